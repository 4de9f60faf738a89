package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// A lineFilter copies an output without the lines about some URLs. Lines may be of any length,
// because only the beginning of each line is parsed.
type lineFilter struct {
	name       string
	why        func(url string) string
	unreadable func(n int64, err error) // called for each line whose URL cannot be read; the line stays
	// dropped is called for each removed line; its parameter warcFile is set only for a line of
	// an index. dropped may be nil.
	dropped func(why, warcFile string, size int64)
}

// lineStart is how many bytes at the beginning of a line are parsed. No URL is so long.
const lineStart = 1 << 20

func (f *lineFilter) copy(to io.Writer, from io.Reader) error {
	in, out := bufio.NewReaderSize(from, lineStart), bufio.NewWriterSize(to, 64<<10)
	for n := int64(1); ; n++ {
		part, err := in.ReadSlice('\n')
		if err == io.EOF && len(part) == 0 {
			return out.Flush()
		}
		why, file := f.drop(n, part)
		size := int64(0)
		for {
			size += int64(len(part))
			if why == "" {
				if _, err := out.Write(part); err != nil {
					return err
				}
			}
			if err != bufio.ErrBufferFull {
				break
			}
			part, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return err
		}
		if why != "" && f.dropped != nil {
			f.dropped(why, file, size)
		}
	}
}

// drop returns why the n-th line, whose beginning is start, is removed, or "" if the line
// stays. file is the WARC file that the line names, if it is a line of an index.
func (f *lineFilter) drop(n int64, start []byte) (why, file string) {
	url, file, err := lineURL(f.name, start)
	if err != nil {
		f.unreadable(n, err)
		return "", ""
	}
	return f.why(url), file
}

// lineURL returns the URL at the beginning of a line of an output: the URL of the page, or the
// URL of the capture in a line of an index. file is the WARC file that a line of an index
// names.
func lineURL(name string, start []byte) (url, file string, err error) {
	switch name {
	case indexPart, IndexFile:
		e, err := cdxj.Parse(string(bytes.TrimSuffix(start, []byte("\n"))))
		if err != nil {
			return "", "", err
		}
		return e.URL, e.Filename, nil
	case LinksFile:
		url, err = firstMember(start, "from")
	default:
		url, err = firstMember(start, "url")
	}
	return url, "", err
}

// firstMember returns the value of the member called name in the JSON object whose beginning is
// start. If several members have this name, it is the first of them. In the lines that this
// package writes, this member comes before all others.
func firstMember(start []byte, name string) (string, error) {
	in := json.NewDecoder(bytes.NewReader(start))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return "", errors.Join(errors.New("it is not a JSON object"), err)
	}
	for {
		key, err := in.Token()
		if err != nil || key == json.Delim('}') {
			return "", errors.Join(errors.New("it has no "+name), err)
		}
		if key == name {
			var text string
			err := in.Decode(&text)
			return text, err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return "", err
		}
	}
}

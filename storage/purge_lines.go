package storage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// A lineFilter copies an output without the lines that are about some URLs. Lines may be of
// any length: only their beginning is parsed.
type lineFilter struct {
	name       string
	why        func(url string) string
	unreadable func(n int64, err error)               // called for lines whose URL cannot be read; they stay
	dropped    func(why, warcFile string, size int64) // called for each removed line, with its WARC file if it is of an index; may be nil
}

// lineStart is how many bytes of a line are parsed: more than any URL takes.
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

// drop returns why the n-th line is removed, which begins with start; "" if it stays.
func (f *lineFilter) drop(n int64, start []byte) (why, file string) {
	url, file, err := lineURL(f.name, start)
	if err != nil {
		f.unreadable(n, err)
		return "", ""
	}
	return f.why(url), file
}

// lineURL returns the URL at the beginning of a line of an output: that of the page, or, in
// an index, that of the capture, with its WARC file.
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

// firstMember returns the value of the first member of an object with this name. In the
// lines that this package writes it is the first member of all.
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

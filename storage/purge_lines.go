package storage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// A lineFilter copies an output without the lines that are about some URLs. A line may
// be as long as it likes: it is judged by its beginning.
type lineFilter struct {
	name       string
	why        func(url string) string
	unreadable func(n int64, err error)               // told of lines of which nobody knows what they are about; they stay
	dropped    func(why, warcFile string, size int64) // told of each line that goes, of an index with its file; nil: nobody is
}

// lineStart is how much of a line is looked at, in bytes: more than any URL takes.
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

// drop says why the n-th line goes, which begins with start; "" if it stays.
func (f *lineFilter) drop(n int64, start []byte) (why, file string) {
	url, file, err := lineURL(f.name, start)
	if err != nil {
		f.unreadable(n, err)
		return "", ""
	}
	return f.why(url), file
}

// lineURL is what a line of an output is about, by its beginning: the page, or, in an
// index, the capture, with the WARC file that it is in.
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

// firstMember is the text of the member with which an object begins, or, where that is
// another one, which nobody has written here, of the first one with its name.
func firstMember(start []byte, name string) (string, error) {
	in := json.NewDecoder(bytes.NewReader(start))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return "", errors.Join(errors.New("it is no object"), err)
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

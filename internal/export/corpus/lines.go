package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

const bufferSize = 64 << 10

// WriteLines writes each document as a JSON object on a line of its own, in UTF-8. It returns
// the number of documents.
func WriteLines(w io.Writer, docs iter.Seq2[*Document, error]) (int64, error) {
	out := bufio.NewWriterSize(w, bufferSize)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var n int64
	for d, err := range docs {
		if err != nil {
			return n, err
		}
		if err := enc.Encode(d); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

// CheckLines reads the output of WriteLines and returns the number of documents. The error has
// the number of the first invalid line.
func CheckLines(r io.Reader) (n int64, err error) {
	dec := json.NewDecoder(bufio.NewReaderSize(r, bufferSize))
	dec.DisallowUnknownFields()
	for {
		var d Document
		switch err := dec.Decode(&d); {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, fmt.Errorf("document %d: %w", n+1, err)
		case d.Row == nil || d.URL == "":
			return n, fmt.Errorf("document %d has no URL", n+1)
		}
		n++
	}
}

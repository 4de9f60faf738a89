package warc

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// A conversion record refers to the record from which it was made (section 6.8), and the metadata
// record refers to the conversion record.
func TestConversionRecords(t *testing.T) {
	t.Parallel()
	e, err := NewEncoder(Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{
		URL: "http://a.test/", Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Converted: "urn:uuid:first",
		File: &File{Type: "text/plain", Body: []byte("text")}, Metadata: []Field{{Name: "language", Value: "de"}},
	}
	out, placed, err := e.AppendExchange(nil, x)
	if err != nil || len(placed) != 2 {
		t.Fatal(placed, err)
	}
	r := NewReader(bytes.NewReader(out))
	for _, want := range []struct {
		kind          Type
		refers, block string
	}{{Conversion, "<urn:uuid:first>", "text"}, {Metadata, "<" + placed[0].ID + ">", "language: de\r\n"}} {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec)
		if err != nil || rec.Type != want.kind || rec.Header.Get(fieldRefersTo) != want.refers || string(block) != want.block || rec.Header.Get(FieldConcurrentTo) != "" {
			t.Errorf("%s record, refers to %s, block %q, %v", rec.Type, rec.Header.Get(fieldRefersTo), block, err)
		}
	}
	x.File = nil
	if _, _, err := e.AppendExchange(nil, x); err == nil || !strings.Contains(err.Error(), "Converted") {
		t.Errorf("without a File: %v", err)
	}
}

package export

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strings"
)

// WriteJSONL writes each row as a JSON object on a line of its own, in UTF-8. It leaves out
// empty members, except surt, url, time and status. It returns the number of rows that it has
// written.
func WriteJSONL(w io.Writer, rows iter.Seq2[*Row, error]) (int64, error) {
	out := bufio.NewWriterSize(w, bufferSize)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var n int64
	for r, err := range rows {
		if err != nil {
			return n, err
		}
		if err := enc.Encode(r); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

// CSV are the settings of a table in CSV.
type CSV struct {
	// Exact writes texts as they are. Without Exact, an apostrophe is put before each text that
	// a spreadsheet would take for a formula: a text that begins with =, +, -, @, their
	// full-width forms, a tab or a line end. Such a text can be dangerous, because titles and
	// tags come from strangers and people open CSV files in spreadsheets.
	Exact bool
	// Snapshots adds the column SnapshotColumn before all others.
	Snapshots bool
}

// Write writes a line with the names of the columns, and then a line for each row: RFC 4180,
// with CR LF, in UTF-8 without a byte order mark. Invalid UTF-8 becomes U+FFFD. It returns the
// number of rows that it has written.
func (c CSV) Write(w io.Writer, rows iter.Seq2[*Row, error]) (int64, error) {
	out := bufio.NewWriterSize(w, bufferSize)
	names := Columns()
	if c.Snapshots {
		names = slices.Insert(names, 0, SnapshotColumn)
	}
	out.WriteString(strings.Join(names, ",") + "\r\n")
	var n int64
	for r, err := range rows {
		if err != nil {
			return n, err
		}
		if c.Snapshots {
			out.WriteString(timeText(r.Snapshot) + ",")
		}
		for i, col := range columns {
			if i > 0 {
				out.WriteByte(',')
			}
			c.cell(out, col.text(r))
		}
		if _, err := out.WriteString("\r\n"); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

var formulas = []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"}

func (c CSV) cell(out *bufio.Writer, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !c.Exact {
		for _, prefix := range formulas {
			if strings.HasPrefix(s, prefix) {
				s = "'" + s
				break
			}
		}
	}
	if !strings.ContainsAny(s, "\",\r\n") {
		out.WriteString(s)
		return
	}
	out.WriteByte('"')
	out.WriteString(strings.ReplaceAll(s, `"`, `""`))
	out.WriteByte('"')
}

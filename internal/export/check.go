package export

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// CheckCDXJ reads an index and returns the number of its lines. The error names the first line
// that is not a CDXJ line, whose key does not match its URL, or that is not in order.
func CheckCDXJ(r io.Reader) (int64, error) {
	var before []byte
	return checkLines(r, func(line []byte) error {
		e, err := cdxj.Parse(string(line))
		switch {
		case err != nil:
			return err
		case e.Key != cdxj.SURT(e.URL):
			return fmt.Errorf("the key is not that of %s", e.URL)
		case bytes.Compare(before, line) > 0:
			return fmt.Errorf("the line sorts before the one above it")
		}
		before = append(before[:0], line...)
		return nil
	})
}

// CheckJSONL reads the output of WriteJSONL and returns the number of rows. The error names the
// first line that is not a row, or is not in order.
func CheckJSONL(r io.Reader) (int64, error) {
	var order ordered
	return checkLines(r, func(line []byte) error {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var row Row
		if err := dec.Decode(&row); err != nil {
			return err
		}
		return order.check(timeText(row.Snapshot), row.SURT, row.URL)
	})
}

func checkLines(r io.Reader, check func([]byte) error) (int64, error) {
	in := bufio.NewReaderSize(r, bufferSize)
	var n int64
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return n, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = check(line)
		}
		if err != nil {
			return n, fmt.Errorf("line %d: %w", n+1, err)
		}
		n++
	}
}

// CheckCSV reads the output of CSV.Write and returns the number of rows. The error names the
// first line that is not a row, or is not in order.
func CheckCSV(r io.Reader) (int64, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return 0, err
	}
	snapshots := header[0] == SnapshotColumn
	if snapshots {
		header = header[1:]
	}
	if len(header) != len(columns) {
		return 0, csv.ErrFieldCount
	}
	if !slices.Equal(header, Columns()) {
		return 0, fmt.Errorf("the first line does not have the names of the columns")
	}
	var n int64
	var order ordered
	for {
		cells, err := in.Read()
		if err == io.EOF {
			return n, nil
		}
		snapshot := ""
		if err == nil && snapshots {
			snapshot, cells = cells[0], cells[1:]
		}
		if err == nil {
			err = order.check(snapshot, cells[0], cells[1])
		}
		if err != nil {
			return n, fmt.Errorf("row %d: %w", n+1, err)
		}
		n++
	}
}

// ordered checks that rows are sorted by snapshot, then by SURT, then by URL.
type ordered struct{ snapshot, surt, url string }

func (o *ordered) check(snapshot, surt, url string) error {
	if surt == "" || url == "" {
		return fmt.Errorf("the row has no SURT or no URL")
	}
	if snapshot < o.snapshot || snapshot == o.snapshot && (surt < o.surt || surt == o.surt && url < o.url) {
		return fmt.Errorf("the row of %s sorts before the one above it", url)
	}
	o.snapshot, o.surt, o.url = snapshot, surt, url
	return nil
}

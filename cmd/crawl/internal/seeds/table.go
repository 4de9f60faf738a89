package seeds

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
)

// table reads the seeds of a table (RFC 4180, or separated by tabs or semicolons), from
// the column that --column names. It prints which values are not seeds, and leaves them
// out.
func (s Reader) table(in *bufio.Reader, name, column string) (seeds []string, err error) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		in.Discard(len(mark))
	}
	head, _ := in.Peek(4096)
	table := csv.NewReader(in)
	table.Comma, table.FieldsPerRecord, table.ReuseRecord = separator(head), -1, true
	at, first, wrong := -1, true, 0
	for {
		row, err := table.Read()
		if err == io.EOF {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, exit.Usagef("%s:%d:%d: %v: correct the line, or put quotation marks around its value and double those inside", name, bad.Line, bad.Column, bad.Err)
		}
		if err != nil {
			return nil, exit.Usagef("%s: %v", name, err)
		}
		header := false
		if first {
			if at, header, err = columnOf(row, name, column); err != nil {
				return nil, err
			}
		}
		line, _ := table.FieldPos(0)
		seed, why := seedIn(row, at)
		switch {
		case header, first && why != nil: // a line of column names
		case why != nil:
			if wrong++; wrong <= maxBadSeeds {
				s.Note("crawl: %s:%d: %v; this line is left out", name, line, why)
			}
		case seed != "":
			seeds = append(seeds, seed)
		}
		first = false
	}
	if wrong > maxBadSeeds {
		return nil, exit.Usagef("%s: column %s has no URL in %d more lines: is it the right one? --column names another", name, column, wrong-maxBadSeeds)
	}
	return seeds, nil
}

// separator returns the separator between the values of a table, judged by its first
// line.
func separator(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	comma := ','
	for _, other := range "\t;" {
		if bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(comma))) {
			comma = other
		}
	}
	return comma
}

// columnOf finds a column by its name in the first line, or by its number. header is true
// if the first line has names.
func columnOf(row []string, name, column string) (at int, header bool, err error) {
	names := make([]string, len(row))
	for i, value := range row {
		names[i] = strings.TrimSpace(value)
	}
	if n, err := strconv.Atoi(column); err == nil {
		if n < 1 || n > len(row) {
			return 0, false, exit.Usagef("--column: %s:1 has no column %d: it has %s", name, n, say.Plural(len(row), "column"))
		}
		return n - 1, false, nil
	}
	if at = slices.Index(names, column); at < 0 {
		at = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, column) })
	}
	if at < 0 {
		return 0, false, exit.Usagef("--column: %s:1 has no column %q%s: it has %s; a number counts from 1 on", name, column, guess.Meant(column, names), strings.Join(names, ", "))
	}
	return at, true, nil
}

// seedIn returns the seed in a column of a line, or "" if none exists.
func seedIn(row []string, at int) (string, error) {
	if at >= len(row) {
		return "", fmt.Errorf("it has %s, and no column %d", say.Plural(len(row), "column"), at+1)
	}
	value := strings.TrimSpace(row[at])
	if strings.ContainsAny(value, "\t\r\n") { // ReadSeeds would take what follows a tab for a tag
		return "", errors.New("there is a tab or a line end in the URL")
	}
	seeds, bad, err := crawler.ReadSeeds(strings.NewReader(value), "")
	switch {
	case err != nil:
		return "", err
	case len(bad) > 0:
		return "", bad[0].Err
	case len(seeds) == 0:
		return "", nil
	}
	return seeds[0], nil
}

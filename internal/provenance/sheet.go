package provenance

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A Sheet is the result of writing DATASHEET.md.
type Sheet struct {
	Open int    // number of questions that are not answered yet
	Why  string // why the file was not changed; empty if it was written
}

// openQuestion is the text in the datasheet in place of an answer that a person must give.
const openQuestion = "*Open: a person has to answer this.*"

// emptySheet is the datasheet with the questions only, without any facts.
//
//go:embed sheet.md
var emptySheet []byte

// The marks before and after each text of facts in a datasheet. Each mark is a line of its own.
// The first mark has the name of the facts.
var (
	beginFacts = regexp.MustCompile(`^<!-- facts: ([a-z]+) -->[ \t\r]*$`)
	endFacts   = regexp.MustCompile(`^<!-- /facts -->[ \t\r]*$`)
)

// mostSheet is the size in bytes of the largest datasheet that can be updated.
const mostSheet = 16 << 20

// writeSheet updates the facts in DATASHEET.md, and keeps what a person has written. If the
// marks around the facts are missing or wrong, it cannot tell what a person has written, and
// does not change the file.
func (w *writer) writeSheet() error {
	path := filepath.Join(w.dir, DatasheetFile)
	old, err := readBounded(path, mostSheet)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = emptySheet
	case errors.Is(err, errTooLong):
		w.sheet.Why = err.Error()
		return nil
	case err != nil:
		return err
	}
	w.sheet.Open = bytes.Count(old, []byte(openQuestion))
	text, err := fillSheet(old, w.facts())
	if err != nil {
		w.sheet.Why = err.Error()
		return nil
	}
	return w.stageWhole(DatasheetFile, text)
}

var errTooLong = errors.New("it is too long for a datasheet")

// readBounded reads a file. It returns errTooLong if the file has more bytes than the parameter
// most says.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = errTooLong
	}
	return text, err
}

// fillSheet returns the datasheet old with the texts between its marks replaced by facts. It
// leaves out facts whose marks a person has removed. The error says why the datasheet cannot be
// updated.
func fillSheet(old []byte, facts map[string]string) ([]byte, error) {
	var b bytes.Buffer
	in, since, marks, n := "", 0, 0, 0
	for text := range bytes.Lines(old) {
		n++
		alone := bytes.TrimSuffix(text, []byte("\n"))
		begins, ends := beginFacts.FindSubmatch(alone), endFacts.Match(alone)
		switch {
		case begins != nil && since != 0:
			return nil, fmt.Errorf("in line %d facts begin within those that begin in line %d: mend the marks, or move the file away", n, since)
		case begins != nil:
			in, since, marks = string(begins[1]), n, marks+1
			b.Write(text)
			if known, ok := facts[in]; ok {
				b.WriteString("\n" + known + "\n")
			} else {
				in = ""
			}
		case ends && since == 0:
			return nil, fmt.Errorf("in line %d facts end that have not begun: mend the marks, or move the file away", n)
		case ends:
			in, since = "", 0
			b.Write(text)
		case in == "":
			b.Write(text)
		}
	}
	switch {
	case since != 0:
		return nil, fmt.Errorf("the facts that begin in line %d have no end: mend the marks, or move the file away", since)
	case marks == 0:
		return nil, errors.New("it has no marks for facts, and is kept")
	}
	return b.Bytes(), nil
}

// A table is a Markdown table.
type table struct{ strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	return t
}

// row adds a row to the table. In a cell it writes a backslash before each pipe, as tables
// require (GitHub Flavored Markdown, 4.10). But it writes a pipe that follows a backslash as
// \u{...}, because a further backslash would escape the first backslash instead of the pipe.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(cell, `\|`, `\\u{7c}`), "|", `\|`)
	}
	t.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// number adds a row with a name and a number.
func (t *table) number(name string, n int64) { t.row(name, fmt.Sprint(n)) }

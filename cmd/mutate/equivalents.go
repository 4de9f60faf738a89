package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// An equivalent is a mutant that no test can kill, since it does what the original does, with
// the reason.
type equivalent struct {
	file, function, text, change string
	reason                       string
}

// readEquivalents reads the list: five fields on a line, separated by tabs. "#" begins a
// comment.
func readEquivalents(name string, list []byte) ([]equivalent, error) {
	var all []equivalent
	n := 0
	for line := range bytes.Lines(list) {
		n++
		s := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "#") {
			continue
		}
		f := strings.Split(s, "\t")
		if len(f) != 5 || f[4] == "" {
			return nil, fmt.Errorf("%s:%d: want five fields, separated by tabs: file, function, line of source, change, reason", name, n)
		}
		all = append(all, equivalent{f[0], f[1], f[2], f[3], f[4]})
	}
	return all, nil
}

// is reports whether m, of a module at root, is the listed mutant.
func (e *equivalent) is(m *mutant, root string) bool {
	return e.function == m.function && e.text == m.text && e.change == m.change && e.file == relative(root, m.file)
}

// entry returns the line by which a mutant is listed.
func entry(m *mutant, root string) string {
	return strings.Join([]string{relative(root, m.file), m.function, m.text, m.change}, "\t")
}

func relative(root, file string) string {
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

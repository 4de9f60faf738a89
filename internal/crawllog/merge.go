package crawllog

import (
	"errors"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/internal/lines"
)

// Merge reads the logs of the nodes of one crawl as one log, by the times of their lines. The
// lines of each log keep their order: a line counts as at least as late as the lines before it.
// Merge calls line for each line, with its number in the merged log, or other if the line cannot
// be parsed or is too long (ErrLong; then text is nil). log is the index of its log. The texts have
// no newline, and are valid until the function returns. Merge leaves out a last line without a
// newline, which a node is still writing. It stops at the first error of a function or of a log.
func Merge(logs []io.Reader, line func(n int64, l *Line, text []byte) error, other func(log int, n int64, text []byte, why error) error) error {
	all := make([]merging, len(logs))
	for i, r := range logs {
		all[i].in = lines.NewReader(r)
		if err := all[i].next(); err != nil {
			return err
		}
	}
	for n := int64(1); ; n++ {
		first := -1
		for i := range all {
			if !all[i].ended && (first < 0 || all[i].at.Before(all[first].at)) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		m := &all[first]
		var err error
		if m.err != nil {
			err = other(first, n, m.text, m.err)
		} else {
			err = line(n, m.line, m.text)
		}
		if err == nil {
			err = m.next()
		}
		if err != nil {
			return err
		}
	}
}

// A merging is one of the logs that Merge reads, at its next line.
type merging struct {
	in    *lines.Reader
	text  []byte
	line  *Line // nil if err is not nil
	err   error
	at    time.Time // time of the line, or of an earlier line if that is later
	ended bool
}

func (m *merging) next() (err error) {
	m.text, err = m.in.Next()
	switch {
	case err == io.EOF || err == nil && m.in.Torn():
		m.ended = true
		return nil
	case errors.Is(err, ErrLong):
		m.text, m.line, m.err = nil, nil, err
		return nil
	case err != nil:
		return err
	}
	if m.line, m.err = Parse(string(m.text)); m.err == nil && m.line.Time.After(m.at) {
		m.at = m.line.Time
	}
	return nil
}

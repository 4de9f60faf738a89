package follow

import (
	"bytes"
	"io"
	"os"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/report"
)

// Bounds of reading a log.
const (
	tail     = 4 << 20   // bytes before the end of a log that are read first
	mostRead = 8 << 20   // bytes that are read at once; if there are more, only the tail of them is read
	window   = time.Hour // a report is of one to two windows of time
)

// A log reads the new lines of a crawl.log.
type log struct {
	path, name string
	is         os.FileInfo // of the file that was read last
	at         int64       // up to here all lines were read

	now, next *report.Live // next begins a window later, and then takes the place of now
}

// read reads what is new, and returns a report. If the log cannot be read, the report is of the
// status alone.
func (l *log) read(s *crawler.Status) *report.Recent {
	l.readLines()
	if l.now == nil {
		l.now = report.NewLive(l.name)
	}
	if l.next != nil && s.Time.Sub(l.next.Begin()) > window && !l.next.Begin().IsZero() {
		l.now, l.next = l.next, nil
	}
	if l.next == nil && !l.now.Begin().IsZero() && s.Time.Sub(l.now.Begin()) > window {
		l.next = report.NewLive(l.name)
	}
	for _, live := range []*report.Live{l.now, l.next} {
		if live != nil {
			live.Status(s)
		}
	}
	return l.now.Report(s)
}

// readLines reads the lines that are new.
func (l *log) readLines() {
	info, err := os.Stat(l.path)
	if err != nil || !info.Mode().IsRegular() { // a named pipe could block for ever
		return
	}
	f, err := os.Open(l.path)
	if err != nil {
		return
	}
	defer f.Close()
	size := info.Size()
	if l.is == nil || !os.SameFile(l.is, info) || size < l.at || size-l.at > mostRead {
		l.at, l.now, l.next = max(0, size-tail), nil, nil
	}
	l.is = info
	raw, err := io.ReadAll(io.NewSectionReader(f, l.at, size-l.at))
	if err != nil {
		return
	}
	if l.now == nil {
		l.now = report.NewLive(l.name)
		if l.at > 0 { // the first line is not whole
			cut := bytes.IndexByte(raw, '\n') + 1
			l.at, raw = l.at+int64(cut), raw[cut:]
		}
	}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	l.at += int64(whole)
	for line := range bytes.Lines(raw[:whole]) {
		line = line[:len(line)-1]
		l.now.Line(line)
		if l.next != nil {
			l.next.Line(line)
		}
	}
}

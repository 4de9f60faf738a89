package account

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// The bounds of a scan for lines.
const (
	scanBlock   = 1 << 20  // number of bytes that are read at once
	scanLongest = 64 << 20 // largest length of a line in bytes; longer lines are skipped
	scanNeedle  = 48       // number of bytes of the text that are searched for first, because the processor can compare no more at once
)

// scanLines calls f with each line of a file that contains text, without its newline, until f
// returns false. A missing file has no lines. A line is valid until f returns; the last line
// may be incomplete. quit is called before each block is read. An error of quit ends the scan.
func scanLines(path string, quit func() error, text string, f func(line []byte) (more bool)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return scanLinesOf(quitting{file, quit}, []byte(text), scanLongest, f)
}

// A quitting is a reader that fails when quit returns an error.
type quitting struct {
	io.Reader
	quit func() error
}

func (q quitting) Read(p []byte) (int, error) {
	if err := q.quit(); err != nil {
		return 0, err
	}
	return q.Reader.Read(p)
}

// scanLinesOf is like scanLines for a reader. It skips lines of more than longest bytes.
func scanLinesOf(file io.Reader, text []byte, longest int, f func(line []byte) (more bool)) error {
	// Search for the end of a long text first, because URLs of one site differ more often in
	// their ends than in their beginnings.
	needle := text[max(0, len(text)-scanNeedle):]
	buf, skip := make([]byte, 0, 2*scanBlock), false // skip: buf begins in the middle of a line that is too long
	for last := false; !last; {
		if cap(buf)-len(buf) < scanBlock {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n, err := io.ReadFull(file, buf[len(buf):len(buf)+scanBlock])
		last = err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		buf = buf[:len(buf)+n]
		from, whole := 0, bytes.LastIndexByte(buf, '\n')+1
		if skip && whole > 0 {
			from, skip = bytes.IndexByte(buf, '\n')+1, false
		}
		if last && !skip {
			whole = len(buf)
		}
		if !linesWith(buf[from:whole], needle, text, f) {
			return nil
		}
		rest := copy(buf[:cap(buf)], buf[whole:])
		if buf = buf[:rest]; rest > longest {
			buf, skip = buf[:0], true
		}
	}
	return nil
}

// linesWith calls f with the lines that contain text. needle is the end of text. linesWith
// returns false as soon as f has returned false.
func linesWith(lines, needle, text []byte, f func(line []byte) (more bool)) bool {
	for {
		at := bytes.Index(lines, needle)
		if at < 0 {
			return true
		}
		start := bytes.LastIndexByte(lines[:at], '\n') + 1
		end := len(lines)
		if i := bytes.IndexByte(lines[at:], '\n'); i >= 0 {
			end = at + i
		}
		if line := lines[start:end]; bytes.Contains(line, text) && !f(line) {
			return false
		}
		if end == len(lines) {
			return true
		}
		lines = lines[end+1:]
	}
}

package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// MissedFile is the name of the file in a series that lists the runs that did not happen. Each
// line is a JSON object.
const MissedFile = "missed.jsonl"

// The reasons why a run did not happen.
const (
	WhyOff     = "off"     // no scheduler was running at its time
	WhyOverlap = "overlap" // the previous run was still running
	WhyFailed  = "failed"  // the run could not begin, for example because of a mistake in the job file
)

// A Missed is a run that did not happen. The names of its fields never change.
type Missed struct {
	Due   time.Time `json:"due"` // the time of the run in the schedule
	Why   string    `json:"why"`
	Noted time.Time `json:"noted"`
}

// A missedLine is a line of MissedFile: a missed run, or the time at which a scheduler began to
// run the series.
type missedLine struct {
	Since time.Time `json:"since,omitzero"`
	Due   time.Time `json:"due,omitzero"`
	Why   string    `json:"why,omitempty"`
	Noted time.Time `json:"noted,omitzero"`
}

// Missed returns the runs that did not happen, each once, in the order in which they were
// recorded. since is when a scheduler began to run the series; it is zero if none has. Missed
// ignores incomplete lines, which a kill or a power cut may leave.
func (s Series) Missed() (all []Missed, since time.Time, err error) {
	raw, err := os.ReadFile(filepath.Join(s.Dir, MissedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, since, err
	}
	all, since = readMissed(raw)
	return all, since, nil
}

func readMissed(raw []byte) (all []Missed, since time.Time) {
	known := map[int64]bool{}
	for text := range bytes.Lines(raw) {
		var line missedLine
		if !bytes.HasSuffix(text, []byte("\n")) || json.Unmarshal(text, &line) != nil {
			continue
		}
		if since.IsZero() {
			since = line.Since
		}
		if due := line.Due.Unix(); !line.Due.IsZero() && !known[due] {
			known[due] = true
			all = append(all, Missed{line.Due.UTC(), line.Why, line.Noted.UTC()})
		}
	}
	return all, since
}

// NoteMissed records runs that did not happen. It ignores runs that are already recorded. When
// it returns, the records are on disk.
func (s Series) NoteMissed(runs ...Missed) error {
	return s.appendMissed(func(known []Missed, _ time.Time) (lines []missedLine) {
		noted := map[int64]bool{}
		for _, m := range known {
			noted[m.Due.Unix()] = true
		}
		for _, m := range runs {
			if !noted[m.Due.Unix()] {
				noted[m.Due.Unix()] = true
				lines = append(lines, missedLine{Due: m.Due.UTC(), Why: m.Why, Noted: m.Noted.UTC().Truncate(time.Second)})
			}
		}
		return lines
	})
}

// NoteSince records that a scheduler runs the series from now on. It does nothing if this was
// recorded before. Without this record, a first run that did not happen because the scheduler
// was killed would not count as missed.
func (s Series) NoteSince(now time.Time) error {
	return s.appendMissed(func(_ []Missed, since time.Time) []missedLine {
		if !since.IsZero() {
			return nil
		}
		return []missedLine{{Since: now.UTC()}}
	})
}

// appendMissed calls lines with the contents of the file, and appends the lines that it
// returns, in one write. Meanwhile no other process can append lines.
func (s Series) appendMissed(lines func(known []Missed, since time.Time) []missedLine) error {
	f, err := os.OpenFile(filepath.Join(s.Dir, MissedFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close() // ignore the error of Close, because the data is already synced
	if err := waitLock(f); err != nil {
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		text.WriteByte('\n') // end a line that a kill has left incomplete
	}
	out := json.NewEncoder(&text)
	added := lines(readMissed(raw))
	for _, line := range added {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	if len(added) == 0 {
		return nil
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		return err
	}
	return errors.Join(s.sync(f.Name(), f.Sync), s.syncDir(s.Dir))
}

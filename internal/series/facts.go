package series

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// The files of a snapshot that describe the job that made it. They are written before the first
// request of the snapshot, and never change.
const (
	SeedsFile = "seeds.txt"     // the seeds, one per line, with their tags
	JobFile   = "job.yaml"      // the job file when the snapshot was made
	FactsFile = "snapshot.json" // the Facts of the snapshot, as JSON
)

// Facts describe how a snapshot was begun. The names of its fields never change.
type Facts struct {
	Version  int               `json:"version"`            // version of this format: 1
	Due      time.Time         `json:"due"`                // time of the run in the schedule, from which the snapshot has its name
	Began    time.Time         `json:"began"`              // when the snapshot was made; all answers in older snapshots were requested before this time
	Previous string            `json:"previous,omitempty"` // name of the previous snapshot: the newest one that was over
	Seeds    int               `json:"seeds"`
	SeedsSum string            `json:"seeds_sha256"`
	JobSum   string            `json:"job_sha256"`
	Settings map[string]string `json:"settings"` // settings of the job by name, in the form of setting.Setting.String
	Changed  *Changed          `json:"changed,omitempty"`
}

// A Changed says how a job differs from the job that has made an earlier snapshot.
type Changed struct {
	Since        string   `json:"since"` // name of the earlier snapshot
	Settings     []Change `json:"settings,omitempty"`
	SeedsAdded   int      `json:"seeds_added,omitempty"`
	SeedsRemoved int      `json:"seeds_removed,omitempty"`
	File         bool     `json:"file,omitempty"` // the two job files have different contents
}

// A Change is a setting that differs from the earlier job, with its old and its new value in
// words.
type Change struct {
	Setting string      `json:"setting"`
	Was     string      `json:"was"`
	Is      string      `json:"is"`
	Way     setting.Way `json:"way"`
}

// any reports whether there is any difference.
func (c *Changed) any() bool {
	return c.File || c.SeedsAdded > 0 || c.SeedsRemoved > 0 || len(c.Settings) > 0
}

// ReadFacts reads the facts of a snapshot. The error is fs.ErrNotExist if the snapshot has
// none, because Begin has not made it. It is a *store.DamagedError if the file is not as it was
// written.
func (n Snapshot) ReadFacts() (f Facts, err error) {
	path := filepath.Join(n.Dir, FactsFile)
	raw, err := readRegular(path)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, &store.DamagedError{Path: path, Err: err}
	}
	return f, nil
}

// readRegular reads a file. It returns a *store.DamagedError if path is not a regular file,
// because reading a named pipe could block forever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &store.DamagedError{Path: path, Err: errors.New("it is no regular file")}
	}
	return os.ReadFile(path)
}

// ReadSeeds reads the seeds with which a snapshot was made. It fails with the errors of
// ReadFacts, also about the file of the seeds.
func (n Snapshot) ReadSeeds() ([]string, error) {
	facts, err := n.ReadFacts()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(n.Dir, SeedsFile)
	raw, err := readRegular(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch {
	case err != nil:
		err = errors.New("it is missing")
	case digest(raw) != facts.SeedsSum:
		err = errors.New("it is not what was written")
	}
	if err != nil {
		return nil, &store.DamagedError{Path: path, Err: err}
	}
	seeds, _, _ := crawler.ReadSeeds(bytes.NewReader(raw), path) // reading from memory cannot fail
	return seeds, nil
}

// Check compares the files that describe the job of a snapshot with each other. It returns an
// error for each file that is not as it was written. It returns none for a crawl that Begin has
// not made.
func (n Snapshot) Check() (wrong []*store.DamagedError) {
	facts, err := n.ReadFacts()
	var damaged *store.DamagedError
	switch {
	case errors.As(err, &damaged):
		return append(wrong, damaged)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return append(wrong, &store.DamagedError{Path: filepath.Join(n.Dir, FactsFile), Err: err})
	}
	for _, file := range []struct{ name, sum string }{{JobFile, facts.JobSum}, {SeedsFile, facts.SeedsSum}} {
		path := filepath.Join(n.Dir, file.name)
		raw, err := readRegular(path)
		if err == nil && digest(raw) != file.sum {
			err = fmt.Errorf("it is not what %s says", FactsFile)
		}
		if errors.As(err, &damaged) {
			wrong = append(wrong, damaged)
		} else if err != nil {
			wrong = append(wrong, &store.DamagedError{Path: path, Err: err})
		}
	}
	return wrong
}

// facts returns the Facts of a snapshot that j makes now. due is the time of the run in the
// schedule.
func (j Job) facts(due, now time.Time) Facts {
	f := Facts{
		Version: 1, Due: due, Began: now.UTC(), Seeds: len(j.Options.Seeds),
		SeedsSum: digest(seedsText(j.Options.Seeds)), JobSum: digest(j.File), Settings: map[string]string{},
	}
	for _, s := range j.Options.Settings() {
		if s.Resume != setting.ThisRun {
			f.Settings[s.Name] = s.String()
		}
	}
	return f
}

// changed returns how j differs from the job that has made the snapshot before. now has the
// facts of j. It returns nil if the jobs are the same, or if the facts of the snapshot cannot
// be read.
func (j Job) changed(now Facts, before Snapshot) *Changed {
	was, err := before.ReadFacts()
	if err != nil {
		return nil
	}
	c := &Changed{Since: filepath.Base(before.Dir), File: was.JobSum != now.JobSum}
	usual := new(crawler.Options).Settings()
	for i, s := range j.Options.Settings() {
		is, compared := now.Settings[s.Name]
		old, known := was.Settings[s.Name]
		if !known {
			old = usual[i].String()
		}
		if compared && old != is {
			c.Settings = append(c.Settings, Change{s.Name, setting.InWords(old), setting.InWords(is), s.Compare(old, is)})
		}
	}
	if was.SeedsSum != now.SeedsSum {
		seeds, err := before.ReadSeeds()
		if err != nil {
			return c // leave out the seeds, because those of the snapshot are not known
		}
		c.SeedsAdded, c.SeedsRemoved = lacking(seeds, j.Options.Seeds), lacking(j.Options.Seeds, seeds)
	}
	if !c.any() {
		return nil
	}
	return c
}

// lacking returns how many different elements of the slice of are not in list.
func lacking(list, of []string) (n int) {
	known := make(map[string]bool, len(list))
	for _, text := range list {
		known[text] = true
	}
	for _, text := range of {
		if !known[text] {
			n++
		}
		known[text] = true
	}
	return n
}

func seedsText(seeds []string) []byte {
	var text strings.Builder
	for _, s := range seeds {
		text.WriteString(s + "\n")
	}
	return []byte(text.String())
}

// digest returns the SHA-256 of raw, in hexadecimal digits.
func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

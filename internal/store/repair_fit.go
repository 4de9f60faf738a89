package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/state"
)

// findings collects those problems found by a verifier that a Repair corrects.
type findings struct {
	again map[string]bool // URLs that must be fetched again
	// unplaced has the numbers of those lines of pages.jsonl whose answer is not at the place
	// that they name.
	unplaced map[int64]bool
	links    map[string]bool // URLs of pages for which some lines of links.jsonl are missing
	answers  []string        // keys (see referred) of lost answers that the state names as the first with their payload
	payloads map[string]bool // URLs of the answers in answers
}

// settle finishes the stage, the directory of the mended files, as the next run does with a
// crawl: it truncates the files, merges the journal of the state, and rebuilds the index if
// needed.
func (r *Repair) settle() error {
	if err := ended(r.ctx); err != nil {
		return err
	}
	db, err := Open(r.stage, Options{asIs: true})
	if err != nil {
		return err
	}
	err = db.Log().Write(&crawllog.Line{Time: r.opts.Time, Size: -1, URL: crawllog.RunURL, Annotations: []string{"begin:unclean", "repair"}})
	return errors.Join(err, db.Close())
}

// fit corrects the stage so that its files do not contradict each other. A correction may make
// other facts wrong, so fit repeats until Verify finds nothing to correct, at most four times.
func (r *Repair) fit() error {
	again := map[string]bool{}
	for range 4 {
		f := &findings{again: map[string]bool{}, unplaced: map[int64]bool{}, links: map[string]bool{}, payloads: map[string]bool{}}
		if _, err := (Check{Moved: r.opts.Moved, Temp: r.opts.Temp, beside: r.dir, findings: f}).Verify(r.ctx, r.stage); err != nil {
			return err
		}
		if len(f.again)+len(f.unplaced)+len(f.links)+len(f.answers) == 0 {
			break
		}
		if err := r.apply(f, again); err != nil {
			return err
		}
	}
	r.Again = len(again)
	for url := range again {
		if len(r.Examples) < 5 {
			r.Examples = append(r.Examples, url)
		}
	}
	slices.Sort(r.Examples)
	return nil
}

// lostDetail is the Detail in the fate of a URL whose page is lost.
const lostDetail = "damaged: its page or its answer was lost, and is fetched again"

// apply corrects in the stage what f lists. To the map in the second parameter it adds the URLs
// that a run will fetch again.
func (r *Repair) apply(f *findings, again map[string]bool) (err error) {
	outline, err := state.OpenOutline(r.stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outline.Close()) }()
	if r.marks, err = outline.All(); err != nil {
		return err
	}
	if len(f.unplaced) > 0 {
		if err := r.unplace(f.unplaced); err != nil {
			return err
		}
	}
	if len(f.links) > 0 { // links of some pages are missing in links.jsonl, so it does not cover the whole crawl any more
		m := r.marks.Growing[LinksFile]
		m.Part = true
		r.marks.Growing[LinksFile] = m
		r.lost("%s does not have all links of %d pages", LinksFile, len(f.links))
	}
	problem := func(err error) { r.Left = append(r.Left, r.inCrawl(err)) }
	if len(f.again) > 0 {
		_, err := outline.PurgeEntries(func(u frontier.URL, _ frontier.Fate) (frontier.Fate, bool) {
			url := u.String()
			if !f.again[url] {
				return frontier.Fate{}, false
			}
			again[url] = true
			return frontier.Fate{Code: frontier.ScopeNarrowed, Detail: lostDetail, Time: r.opts.Time}, true
		}, problem)
		if err != nil {
			return err
		}
	}
	if len(f.payloads) > 0 {
		if _, err := outline.PurgePayloads(func(url string) bool { return f.payloads[url] }, problem); err != nil {
			return err
		}
	}
	for _, a := range f.answers {
		if !slices.Contains(r.note.Answers, a) {
			r.note.Answers = append(r.note.Answers, a)
		}
	}
	return errors.Join(outline.PutFiles(r.marks), outline.Put(keyRepaired, &r.note))
}

// unplace removes the place of the answer from those lines of pages.jsonl whose numbers are in
// lost.
func (r *Repair) unplace(lost map[int64]bool) error {
	path := filepath.Join(r.stage, PagesFile)
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.Create(path + newSuffix)
	if err != nil {
		return err
	}
	defer out.Close()
	to := &marking{w: out}
	buf := bufio.NewWriter(to)
	n := int64(0)
	err = eachLineOf(r.reading(from), func(line []byte, _ int64, _ bool) error {
		if n++; lost[n] {
			var p PageRecord
			if err := json.Unmarshal(line, &p); err != nil {
				return err
			}
			p.WARC, p.Offset, p.Length = "", 0, 0
			whole, err := jsonLine(&p)
			if err != nil {
				return err
			}
			line = whole[:len(whole)-1]
		}
		_, err := buf.Write(append(line, '\n'))
		return err
	})
	if err = errors.Join(err, buf.Flush(), out.Sync()); err != nil {
		return err
	}
	m := to.Mark
	m.Part = r.marks.Growing[PagesFile].Part
	r.marks.Growing[PagesFile] = m
	return os.Rename(path+newSuffix, path)
}

// A verifier calls the next methods to add its findings. If f is nil, they do nothing.

func (f *findings) fetchAgain(url string) {
	if f != nil {
		f.again[url] = true
	}
}

func (f *findings) lostPlaces(lines []fact) {
	for _, l := range lines {
		if f != nil {
			f.unplaced[l.at] = true
		}
	}
}

func (f *findings) missesLinks(url string) {
	if f != nil {
		f.links[url] = true
	}
}

func (f *findings) lostAnswer(url string, key string) {
	if f != nil {
		f.answers = append(f.answers, key)
		f.payloads[url] = true
	}
}

// repaired reads from the repairNote what earlier repairs have found to be lost, so that Verify
// does not report it again.
func (v *verifier) repaired() error {
	r, err := openPurging(v.dir)
	if err != nil {
		return nil // ignore the error, because readState reports it
	}
	var note repairNote
	_, err = r.Get(keyRepaired, &note)
	err = errors.Join(err, r.Close())
	if err != nil {
		return err
	}
	for _, key := range note.Answers {
		v.know(aboutReferred+key, ofPurged, 0, "")
	}
	v.logLost = note.Log
	return nil
}

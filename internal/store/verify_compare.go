package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A said has all facts with the same key, grouped by the file from which they come.
type said map[source][]fact

func (s said) has(from source) bool { return len(s[from]) > 0 }

// says reports whether one of the facts from this file has the given value.
func (s said) says(from source, value string) bool {
	for _, f := range s[from] {
		if f.value == value {
			return true
		}
	}
	return false
}

// wrong reports a problem of the line in a file from which the fact f comes.
func (v *verifier) wrong(file string, f fact, format string, args ...any) {
	v.problemOf(file, "%s:%d: "+format, append([]any{filepath.Join(v.dir, file), f.at}, args...)...)
}

// compareURL compares the facts about a URL. It does so only for a crawl of package crawler,
// because the state and the outputs of other programs that use package storage may differ.
func (v *verifier) compareURL(url string, s said) {
	if !v.crawled {
		return
	}
	if !s.has(ofFate) {
		for _, f := range s[ofPage] {
			v.wrong(PagesFile, f, "%s has this page, and %s does not know the URL", url, StateFile)
		}
		for _, f := range s[ofLog] {
			v.wrong(LogFile, f, "%s was asked for, and %s does not know the URL", url, StateFile)
		}
	}
	v.compareFetched(url, s)
	for _, f := range s[ofPage] {
		if start, _, _ := strings.Cut(afterWord(f.value), " "); !s.says(ofLog, start) && !v.logLost {
			v.wrong(PagesFile, f, "%s has no line in %s for the request of this page", url, LogFile)
		}
	}
	v.compareLinks(url, s)
}

// compareFetched reports a problem if the state says that a URL was fetched, but its page or
// its line in the log is missing.
func (v *verifier) compareFetched(url string, s said) {
	fetched := ""
	for _, f := range s[ofFate] {
		fetched = max(fetched, f.value)
	}
	if fetched == "" {
		return
	}
	if !s.has(ofLog) && !v.logLost {
		v.problem("%s: %s was fetched, and %s has no line of it", StateFile, url, LogFile)
	}
	if !v.whole(PagesFile) {
		return
	}
	for _, f := range s[ofPage] {
		if afterWord(afterWord(f.value)) == fetched {
			return
		}
	}
	v.findings.fetchAgain(url)
	v.problem("%s: %s was fetched (%s), and %s has no such page", StateFile, url, fetched, PagesFile)
}

// compareLinks compares the number of links that the line of a page names with the number of
// lines that the page has in links.jsonl.
func (v *verifier) compareLinks(url string, s said) {
	if !v.whole(PagesFile) || !v.whole(LinksFile) {
		return
	}
	want, have := int64(0), int64(0)
	for _, f := range s[ofPage] {
		want += firstNumber(f.value)
	}
	for _, f := range s[ofLinks] {
		have += firstNumber(f.value)
	}
	if want == have {
		return
	}
	v.findings.missesLinks(url)
	if !s.has(ofLinks) {
		v.wrong(PagesFile, s[ofPage][0], "%s has %d links and none in %s", url, want, LinksFile)
		return
	}
	v.wrong(LinksFile, s[ofLinks][0], "%s has %d links here, and %d by %s", url, have, want, PagesFile)
}

// compareCapture compares the facts about the answer at one place of the archive.
func (v *verifier) compareCapture(at string, s said) {
	i := max(0, strings.LastIndexByte(at, ' '))
	name, offset := at[:i], firstNumber(strings.TrimSpace(at[i:]))
	there := filepath.Join(v.dir, ArchiveDir, name) + ", byte " + strconv.FormatInt(offset, 10)
	if !s.has(ofRecord) {
		v.compareAbsent(name, there, s)
		return
	}
	record, line, _ := strings.Cut(s[ofRecord][0].value, "\t")
	for _, f := range s[ofPage] {
		if !strings.HasPrefix(f.value+" ", record+" ") {
			v.findings.lostPlaces([]fact{f})
			v.wrong(PagesFile, f, "the answer at %s is a different one", there)
		}
	}
	for _, f := range s[ofAnswer] {
		if is := strings.Fields(record); len(is) < 3 || is[2] != f.value {
			v.findings.fetchAgain(f.value)
			v.problem("%s: the answer at %s is not that of %s", StateFile, there, f.value)
		}
	}
	v.compareLine(indexPart, s[ofPart], v.state.Growing[indexPart].Length > 0, line, there)
	v.compareLine(IndexFile, s[ofIndex], v.indexed, line, there)
}

// compareLine checks the lines that an index has about a record: there must be at most one, and
// it must equal want. want is empty if the index should have no line about the record. If must
// is set, a missing line is a problem. there is the place of the record, for messages.
func (v *verifier) compareLine(file string, lines []fact, must bool, want, there string) {
	if len(lines) == 0 && must && want != "" {
		v.problemOf(file, "%s has no line for %s", filepath.Join(v.dir, file), there)
	}
	for i, f := range lines {
		switch {
		case f.value != want:
			v.wrong(file, f, "it does not match the record at %s", there)
		case i > 0:
			v.wrong(file, f, "it is a duplicate")
		}
	}
}

// compareAbsent is called for a place in the archive at which there is no record, although the
// state, pages.jsonl or an index names the place. If the WARC file is missing, compareAbsent
// counts the place in v.absent. Otherwise it reports each line and each entry that names the
// place.
func (v *verifier) compareAbsent(name, there string, s said) {
	if v.present[name] || !v.Moved {
		v.findings.lostPlaces(s[ofPage])
		for _, f := range s[ofAnswer] {
			v.findings.fetchAgain(f.value)
		}
	}
	if !v.present[name] {
		v.absent[name]++
		return
	}
	for _, f := range s[ofAnswer] {
		v.problem("%s: the answer of %s is not at %s", StateFile, f.value, there)
	}
	for _, f := range s[ofPage] {
		v.wrong(PagesFile, f, "there is no answer at %s", there)
	}
	for _, f := range s[ofPart] {
		v.wrong(indexPart, f, "there is no answer at %s", there)
	}
	for _, f := range s[ofIndex] {
		v.wrong(IndexFile, f, "there is no answer at %s", there)
	}
}

// compareReferred looks for an answer to which revisit records or the state refer. It reports a
// problem if the answer is neither in the archive nor in an earlier crawl and was not purged.
// If WARC files are missing, it reports nothing, because the answer may be in one of them.
func (v *verifier) compareReferred(key string, s said) {
	if !s.has(ofRecord) && (len(v.absent) == 0 || !v.Moved) {
		for _, f := range s[ofPayload] {
			v.findings.lostAnswer(f.value, key)
		}
	}
	if s.has(ofRecord) || s.has(ofPurged) || len(v.absent) > 0 {
		return
	}
	repeated := s[ofRevisit]
	if len(repeated) > 0 {
		url, date, _ := repeats(repeated[0])
		switch err := v.before(url, date); {
		case errors.Is(err, ErrPurged):
			v.done.Bodiless += len(repeated)
			repeated = nil
		case err == nil:
			repeated = nil
		}
	}
	for _, f := range repeated {
		url, _, name := repeats(f)
		err := fmt.Errorf("%s, byte %d: it repeats an answer of %s that is neither in the archive nor in an earlier crawl that can be found: bring back the crawl that has it", filepath.Join(v.dir, ArchiveDir, name), f.at, url)
		if !s.has(ofPayload) { // if the state has the answer, the answer must be in this archive
			v.done.Away++
			err = &MissingAnswerError{err}
		}
		v.problem("%w", err)
	}
	for _, f := range s[ofPayload] {
		v.problem("%s: an answer of %s was archived, and is not in the archive", StateFile, f.value)
	}
}

// before looks for the answer to url at a time in the archives of this crawl and of earlier
// crawls. It returns nil if the answer is there, or else an error that says what is wrong.
func (v *verifier) before(url string, at time.Time) error {
	if v.past == nil {
		v.past = PastOf(v.dir)
		if v.beside != "" {
			v.past.older = sync.OnceValue(func() []string { return olderThan(v.beside) })
		}
	}
	_, err := v.past.find(url, at)
	return err
}

func afterWord(s string) string {
	_, rest, _ := strings.Cut(s, " ")
	return rest
}

func firstNumber(s string) int64 {
	word, _, _ := strings.Cut(s, " ")
	n, _ := strconv.ParseInt(word, 10, 64)
	return n
}

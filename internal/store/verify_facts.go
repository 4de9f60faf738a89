package store

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A fact is a statement of one file about something that other files mention, too: a URL, the
// answer at a place of the archive, or an answer to which revisit records refer. All facts are
// sorted by key, in temporary files if they do not fit into memory. Then the facts with the
// same key are compared with each other.
type fact struct {
	key   string
	from  source
	at    int64 // position in the file: line number, or byte offset
	value string
}

// A source is the file from which a fact comes, and what the fact is about.
type source byte

const (
	ofFate    source = 'f' // the state: the fate of a URL
	ofAnswer  source = 'e' // the state: the place of the answer of an entry
	ofPayload source = 's' // the state: the first answer with a payload
	ofPage    source = 'g' // pages.jsonl: a page
	ofLinks   source = 'l' // links.jsonl: the number of links of a page
	ofLog     source = 'c' // crawl.log: a request for a URL
	ofIndex   source = 'i' // index.cdxj: the answer in a line
	ofPart    source = 'p' // index.part: the answer in a line
	ofRecord  source = 'a' // a WARC file: a record; it must sort before ofRevisit
	ofPurged  source = 'b' // a WARC file: an answer that was purged; it must sort before ofRevisit
	ofRevisit source = 'v' // a WARC file: the answer to which a revisit record refers
)

// The prefixes of keys, which say what facts are about. Facts about captures sort first,
// because after them it is known which WARC files are missing.
const (
	aboutCapture  = "A "
	aboutReferred = "R "
	aboutURL      = "U "
)

func urlKey(url string) string { return aboutURL + url }

func captureKey(file string, offset int64) string {
	return aboutCapture + file + " " + fmt.Sprintf("%020d", offset)
}

func referredKey(url string, date time.Time) string { return aboutReferred + referred(url, date) }

// facts sorts facts, each as a line of text.
type facts struct {
	sorter *cdxj.Sorter
	err    error // the first error that the sorter returned
}

// factsMemory is how many bytes of facts are held in memory before they go to a file.
const factsMemory = 16 << 20

func newFacts(temp string) *facts { return &facts{sorter: cdxj.NewSorter(temp, factsMemory)} }

func (f *facts) close() { f.sorter.Close() }

// A batch has the facts from some lines or records. Several goroutines may fill one batch each.
type batch struct {
	lines []byte // the facts, one per line
	count counts
	named []linked // numbers of links by page, from links.jsonl
}

// counts are the numbers of a Verified that come from batches.
type counts struct {
	pages, logLines, records, purged, lostRecords int
	crawled                                       bool // see verifier.crawled
}

// know adds a fact. If the key or the value is too long to be sorted, know cuts it.
func (b *batch) know(key string, from source, at int64, value string) {
	const most = 256 << 10
	b.lines = appendPlain(b.lines, key[:min(len(key), most)])
	b.lines = append(b.lines, 0, byte(from), 0)
	b.lines = strconv.AppendInt(b.lines, at, 10)
	b.lines = appendPlain(append(b.lines, 0), value[:min(len(value), most)])
	b.lines = append(b.lines, '\n')
}

// memory returns how much memory the batch has, in bytes.
func (b *batch) memory() int { return len(b.lines) + 64*len(b.named) }

var batches = sync.Pool{New: func() any { return new(batch) }}

func newBatch() *batch { return batches.Get().(*batch) }

// take adds the facts and the counts of a batch to the verifier, and makes the memory of the
// batch available.
func (v *verifier) take(b *batch) {
	for line := range bytes.Lines(b.lines) {
		if err := v.facts.sorter.AddLine(line); err != nil && v.facts.err == nil {
			v.facts.err = err
		}
	}
	v.done.Pages += b.count.pages
	v.done.LogLines += b.count.logLines
	v.done.Records += b.count.records
	v.done.Purged += b.count.purged
	v.done.LostRecords += b.count.lostRecords
	v.crawled = v.crawled || b.count.crawled
	if cap(b.lines) <= mostKept {
		b.lines, b.count, b.named = b.lines[:0], counts{}, b.named[:0]
		batches.Put(b)
	}
}

// mostKept is the size of the largest batch that is used again, in bytes.
const mostKept = 1 << 20

// know adds a single fact.
func (v *verifier) know(key string, from source, at int64, value string) {
	b := newBatch()
	b.know(key, from, at, value)
	v.take(b)
}

// appendPlain appends s to b. It replaces the bytes that separate the parts of a fact by
// spaces, because damaged text may contain such bytes.
func appendPlain(b []byte, s string) []byte {
	if strings.IndexByte(s, 0) >= 0 || strings.IndexByte(s, '\n') >= 0 {
		s = strings.NewReplacer("\x00", " ", "\n", " ").Replace(s)
	}
	return append(b, s...)
}

func parseFact(line []byte) (f fact) {
	part := bytes.SplitN(line, []byte{0}, 4)
	f.key, f.from, f.value = string(part[0]), source(part[1][0]), string(part[3])
	f.at, _ = strconv.ParseInt(string(part[2]), 10, 64)
	return f
}

// The functions below make facts, or values of facts.

func (v *verifier) knowFate(u frontier.URL, f frontier.Fate) {
	if f.Answer != (frontier.Place{}) {
		v.know(captureKey(f.Answer.File, f.Answer.Offset), ofAnswer, 0, u.String())
	}
	value := ""
	if f.Code == frontier.Fetched || f.Code == frontier.UseRefused && f.Status != 0 {
		value = fmt.Sprintf("%d %s", f.Status, f.Digest)
	}
	v.know(urlKey(u.String()), ofFate, 0, value)
}

func pageFact(p *PageRecord) string {
	return fmt.Sprintf("%d %d %d %s", p.Links, p.Time.UnixMicro(), p.Status, p.Digest)
}

func placeFact(p *PageRecord) string {
	return fmt.Sprintf("%d %d %s %d", p.Length, p.Time.UnixMicro(), p.URL, p.Status)
}

func logFact(l *crawllog.Line) string {
	start := l.Start
	if text, ok := l.Annotation("start"); ok {
		if t, err := time.Parse(crawllog.MicroForm, text); err == nil {
			start = t
		}
	}
	return strconv.FormatInt(start.UnixMicro(), 10)
}

// recordFact returns the value of a fact about a record. It begins with the text that
// placeFact returns for the page of the record, so that the two can be compared. Answers over
// FTP are an exception: there the text of placeFact has a status, and that of recordFact has
// none.
func recordFact(p *warc.Placed, line []byte) string {
	status := ""
	if p.Status != 0 {
		status = fmt.Sprintf(" %d", p.Status)
	}
	return fmt.Sprintf("%d %d %s%s\t%s", p.Length, p.Date.UnixMicro(), p.URL, status, line)
}

// revisitFact returns the value of a fact about a revisit record. The value says which answer the
// record repeats: url and date are those of that answer. name is the name of the WARC file that
// contains the revisit record.
func revisitFact(url string, date time.Time, name string) string {
	return fmt.Sprintf("%d %s %s", date.UnixMicro(), name, url)
}

// repeats parses the value of a fact that revisitFact has made.
func repeats(f fact) (url string, date time.Time, name string) {
	name, url, _ = strings.Cut(afterWord(f.value), " ")
	return url, time.UnixMicro(firstNumber(f.value)), name
}

// compare compares all facts that were added.
func (v *verifier) compare() error {
	if v.facts.err != nil {
		return v.facts.err
	}
	c := &comparer{v: v}
	if _, err := v.facts.sorter.WriteTo(&lineWriter{each: c.add}); err != nil {
		return err
	}
	c.group()
	for _, name := range slices.Sorted(maps.Keys(v.absent)) {
		if v.Moved {
			v.done.Moved = append(v.done.Moved, name)
			continue
		}
		v.problem("%s is missing, with %d answers in it (or was it moved away on purpose?)",
			filepath.Join(v.dir, ArchiveDir, name), v.absent[name])
	}
	return nil
}

// A comparer receives the facts in the order of their keys, and compares the facts with the
// same key.
type comparer struct {
	v   *verifier
	all []fact
}

func (c *comparer) add(line []byte) error {
	if err := ended(c.v.ctx); err != nil {
		return err
	}
	f := parseFact(bytes.TrimSuffix(line, []byte("\n")))
	if len(c.all) > 0 && c.all[0].key != f.key {
		c.group()
	}
	// If a site gives the same answer for every missing page, millions of revisit records refer
	// to this answer. So their facts are not collected if the answer was found.
	answered := len(c.v.absent) > 0
	if len(c.all) > 0 && f.from == ofRevisit {
		answered = answered || c.all[0].from == ofRecord || c.all[0].from == ofPurged
		if c.all[0].from == ofPurged {
			c.v.done.Bodiless++
		}
	}
	if f.from != ofRevisit || !answered {
		c.all = append(c.all, f)
	}
	return nil
}

func (c *comparer) group() {
	if len(c.all) == 0 {
		return
	}
	key := c.all[0].key
	about := said{}
	for _, f := range c.all {
		about[f.from] = append(about[f.from], f)
	}
	c.all = c.all[:0]
	switch key[:2] {
	case aboutURL:
		c.v.compareURL(key[2:], about)
	case aboutCapture:
		c.v.compareCapture(key[2:], about)
	case aboutReferred:
		c.v.compareReferred(key[2:], about)
	}
}

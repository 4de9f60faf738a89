package audit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A marked is a writer that computes the CRC-32C of the first left bytes.
type marked struct {
	left int64
	sum  uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m *marked) Write(b []byte) (int, error) {
	n := min(m.left, int64(len(b)))
	m.left, m.sum = m.left-n, crc32.Update(m.sum, castagnoli, b[:n])
	return len(b), nil
}

// mark compares the log with what the state knows about it.
func (a *auditor) mark() error {
	if a.Written == 0 {
		return nil
	}
	a.checked(Evidence)
	text := ""
	switch m := &a.runs.mark; {
	case m.left > 0:
		text = fmt.Sprintf("%d bytes are missing at its end: the state says that %d were written", m.left, a.Written)
	case m.sum != a.Sum:
		text = fmt.Sprintf("its first %d bytes are not those that were written: the state has another checksum of them", a.Written)
	case !a.Killed && a.runs.bytes > a.Written:
		text = fmt.Sprintf("%d bytes were appended to it after the last run had ended", a.runs.bytes-a.Written)
	default:
		return nil
	}
	return a.violation(&Violation{Code: Evidence, Text: text, Rule: "crawl.log is as it was written"})
}

// contradiction compares fields of a line that record the same fact. It returns how they
// contradict each other, or "" if they agree. open is true if the cause may be that the clock
// was set during the request.
func contradiction(l *crawllog.Line, r *crawllog.Request) (text string, open bool) {
	took := r.End.Sub(r.Start)
	within := func(d time.Duration) bool { return -tick <= d && d < time.Millisecond+tick }
	switch {
	case !within(r.Start.Sub(l.Start)):
		return fmt.Sprintf("its start is %s by the annotation, and %s by field 9", stamp(r.Start), stamp(l.Start)), false
	case !within(took - l.Duration):
		return fmt.Sprintf("it took %v by the annotation, and %v by field 9", took, l.Duration), false
	case r.TTFB > took+tick:
		return fmt.Sprintf("its answer began after %v, and ended after %v", r.TTFB, took), false
	case !within(r.End.Sub(l.Time)):
		return fmt.Sprintf("it ended at %s by its annotations, and at %s by field 1: the clock was set meanwhile, or the line was changed", stamp(r.End), stamp(l.Time)), true
	}
	return "", false
}

// consistent checks that fields of a line that record the same fact agree.
func (a *auditor) consistent(r *request) error {
	a.checked(Evidence)
	if r.contradiction == "" {
		return nil
	}
	if r.mayBeClock {
		a.open(r.line, r.contradiction)
		return nil
	}
	return a.ruled(Evidence, r, r.contradiction, "a line does not contradict itself")
}

// visits adds a record for each URL that a server has answered, according to the state. These
// records are sorted after the log lines of the same URL.
func (a *auditor) visits() error {
	if a.Sites == nil {
		return nil
	}
	for site, err := range a.Sites {
		if err != nil {
			return err
		}
		if err := a.order.Add(appendKey(nil, byHost, site.Host(), ofState), []byte(site)); err != nil {
			return err
		}
		for k, err := range a.Entries(site) {
			if err != nil {
				return err
			}
			if !answered(&k) {
				continue
			}
			at := binary.BigEndian.AppendUint64(nil, uint64(k.Fate.Time.UnixMicro()))
			if err := a.order.Add(appendKey(nil, byURL, k.URL.String(), ofState), at); err != nil {
				return err
			}
		}
	}
	return nil
}

// answered reports whether the state has an answer of a server for an entry. Then the log must
// have a line for it.
func answered(k *store.Kept) bool {
	return k.Fate.Code == frontier.Fetched || k.Fate.Code == frontier.UseRefused && k.Fate.Status != 0
}

// A known has the facts about one URL that were read from its log lines and from the state.
type known struct {
	url    string
	logged bool
}

// visited checks one record about a URL. The records from the log come before the records from
// the state.
func (a *auditor) visited(k *known, rest, text []byte) error {
	if !bytes.Equal(rest, []byte{ofState}) {
		k.logged = true
		return nil
	}
	a.checked(Evidence)
	if k.logged {
		return nil
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(text))).UTC()
	if a.runs.lost > 0 || a.runs.all[0].begun.IsZero() {
		a.open(0, fmt.Sprintf("the state has an answer of %s, of %s, and the log no line of it: a part of the log was removed", k.url, stamp(at)))
		return nil
	}
	return a.violation(&Violation{
		Code: Evidence, URL: k.url, Time: at, Rule: "the log has a line of each request",
		Text: "was answered, as the state says, and the log has no line of it",
	})
}

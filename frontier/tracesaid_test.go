package frontier

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (r *tracer) told(err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	return ""
}

func (r *tracer) rest() string {
	rest := r.f.Rest()
	said := fmt.Sprintf("%d out, %d pending, first due %s by %q", rest.Out, rest.Pending, r.at(rest.NextDue), rest.NextBy)
	if rest.Held > 0 {
		said += fmt.Sprintf(", %d held", rest.Held)
	}
	return said + "\n"
}

func (r *tracer) took(turn *Turn) string {
	r.last = turn.Site()
	r.turns[r.last] = turn
	what := "hop to " + string(r.last)
	if e := turn.Entry(); !e.URL.IsZero() {
		what = e.URL.String()
		switch {
		case e.ByGet:
			what += " by GET for HEAD"
		case e.Head:
			what += " by HEAD"
		}
		if e.Tries > 0 {
			what += fmt.Sprintf(" after %d tries", e.Tries)
		}
	}
	return fmt.Sprintf("%s %s, due %s, rested since %s, %s", r.at(time.Now()), what, r.at(turn.Due()), r.at(turn.Rested()), r.asked(turn))
}

func (r *tracer) asked(turn *Turn) string {
	p := turn.Asked()
	if p == (Pause{}) {
		return "asked for no pause\n"
	}
	since := "its last answer"
	if !p.Since.IsZero() {
		since = r.at(p.Since)
	}
	return fmt.Sprintf("asked for %v since %s by %s\n", p.For, since, p.By)
}

func (r *tracer) refused(err error) string {
	var n *NotYet
	if !errors.As(err, &n) {
		return err.Error() + "\n"
	}
	if n.Until.IsZero() {
		return n.Error() + "\n"
	}
	return fmt.Sprintf("not yet: %s until %s\n", n.By, r.at(n.Until))
}

func (r *tracer) fate(f Fate) string {
	s := f.Code.String()
	if f.Status != 0 {
		s += " " + strconv.Itoa(f.Status)
	}
	if f.Detail != "" {
		s += " (" + f.Detail + ")"
	}
	if !f.Until.IsZero() {
		s += " until " + r.at(f.Until)
	}
	if f.Code != Undecided && !f.Time.Equal(time.Now()) {
		s += ", decided " + r.at(f.Time)
	}
	return s
}

func (r *tracer) site(name Site) (said string) {
	r.f.absorbGrown()
	for st := range r.f.Sites() {
		if st.Site != name {
			continue
		}
		said = fmt.Sprintf("%s: %s, due %s by %q, pause %v", name, queuedOf(st.Queued, st.Again), r.at(st.Due), st.By, st.Pause)
		if st.Given.Code != Undecided {
			said += ", given up: " + r.fate(st.Given)
		}
		if st.Over {
			said += ", over its budget"
		}
		if st.Shut {
			said += ", shut"
		}
		if st.Parked {
			said += ", parked"
		}
		if st.Excluded != "" {
			said += ", excluded: " + st.Excluded
		}
		break
	}
	if said == "" {
		return ""
	}
	return said + "\n"
}

func queuedOf(queued, again int) string {
	if again == 0 {
		return fmt.Sprintf("%d queued", queued)
	}
	return fmt.Sprintf("%d queued, %d again", queued, again)
}

func (r *tracer) crawl() string {
	var s strings.Builder
	for {
		said := r.next(nil)
		s.WriteString(said)
		if len(r.turns) == 0 {
			return s.String()
		}
		r.finish([]string{"took=0s", "status=200"})
	}
}

func (r *tracer) kept() string {
	r.f.Settle(r.t.Context())
	var lines []string
	for st, err := range r.backlog.Sites() {
		if err != nil {
			r.t.Fatal(err)
		}
		c := st.Clocks
		lines = append(lines, fmt.Sprintf("%s: %s, due %s by %q, ended %s, ttfb %v, last %v, gap %v by %q, %d strikes, %d refusals, %d failures, %d good, public %v, retry-after %s, spent %+v, %s\n",
			st.Site, queuedOf(st.Queued, st.Again), r.at(c.Due), c.By, r.at(c.Ended), c.TTFB, c.LastTTFB, c.Gap, c.GapBy, c.Strikes, c.Refusals, c.Failures, c.Good,
			c.Public, r.at(c.RetryAfter), st.Spent, r.fate(st.Fate)))
	}
	for c, err := range r.backlog.Common() {
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s: free %s\n", c.Name, r.at(c.Due)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (r *tracer) stats() string {
	r.f.Settle(r.t.Context())
	st := r.f.Stats()
	next := "nothing waits"
	if st.NextSite != "" {
		next = fmt.Sprintf("next %s %s by %q", st.NextSite, r.at(st.NextDue), st.NextBy)
	}
	entries := fmt.Sprintf("%d entries", st.Entries)
	if st.Again > 0 {
		entries += fmt.Sprintf(", %d again", st.Again)
	}
	return fmt.Sprintf("%s, %d sites, %d out, spent %+v, %s\nrequests with a pause %d, early %d, least margin %v, kept Retry-After %d\n",
		entries, st.Sites, st.Out, st.Spent, next, st.Polite.Requests, st.Polite.Early, st.Polite.LeastMargin, st.Polite.RetryAfter)
}

// machine is a Shared for one process. Traces add the reservations of other processes.
type machine map[string]Taken

func (m machine) Reserve(key string, now, until time.Time) (Taken, bool) {
	if is := m[key]; is.Until.After(now) {
		return is, false
	}
	m[key] = Taken{Until: until, Lease: true}
	return Taken{}, true
}

func (m machine) Renew(key string, until time.Time) { m[key] = Taken{Until: until, Lease: true} }

func (m machine) Release(key string, until time.Time) { m[key] = Taken{Until: until} }

func (r *tracer) machine() string {
	var lines []string
	for key, is := range r.shared {
		lines = append(lines, fmt.Sprintf("%s: until %s, lease %v\n", key, r.at(is.Until), is.Lease))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

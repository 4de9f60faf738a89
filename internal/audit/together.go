package audit

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Joint has what an audit found between several crawls of one machine. Such crawls share the
// clocks of hosts and addresses (frontier.Shared). The names of its fields in JSON never
// change.
type Joint struct {
	Crawls     []string    `json:"crawls"` // directories of the crawls
	Checks     []Check     `json:"checks"`
	Violated   int64       `json:"violations"`
	Violations []Violation `json:"list"` // violations, at most mostListed; Text begins with the name of the crawl whose log has the lines
}

// Clean reports whether there is no violation between the crawls.
func (j *Joint) Clean() bool { return j.Violated == 0 }

// Together audits the crawls in several directories. It first audits each crawl by itself, and
// then compares the requests of all crawls to the same host, and to the same public address.
// The error is a *DirError that wraps the error of Dir.
func Together(dirs []string, o Options) (all []*Report, joint *Joint, err error) {
	return together(dirs, o, Dir)
}

// together is like Together. audit is the function that audits one directory.
func together(dirs []string, o Options, audit func(string, Options) (*Report, error)) (all []*Report, joint *Joint, err error) {
	joint = &Joint{Crawls: dirs, Violations: []Violation{}}
	for _, c := range Codes() {
		switch c.Code {
		case TooEarly:
			c.Rule = "between crawls, each pause was as long as the crawl before had to keep"
		case Concurrent:
			c.Rule = "only one of the crawls at a time had a request at a host"
		default:
			continue
		}
		joint.Checks = append(joint.Checks, c)
	}
	order := o.newOrder()
	defer func() { err = errors.Join(err, order.Close()) }()
	for i, dir := range dirs {
		of := o
		of.mark = func(kind byte, name string, t trace) error {
			t.Crawl = i
			text, err := json.Marshal(t)
			if err != nil {
				return err
			}
			key := binary.BigEndian.AppendUint64(appendKey(nil, kind, name, ofLog), uint64(t.Start)^1<<63)
			return order.Add(key, text)
		}
		r, err := audit(dir, of)
		if err != nil {
			return nil, nil, &DirError{dir, err}
		}
		all = append(all, r)
	}
	var group string
	var last []*trace // the last request of each crawl, by the index of the crawl
	err = order.Each(func(key, text []byte) error {
		if of := string(key[:len(key)-8]); of != group {
			group, last = of, make([]*trace, len(dirs))
		}
		t := new(trace)
		if err := json.Unmarshal(text, t); err != nil {
			return err
		}
		joint.judge(key[0], last, t)
		if before := last[t.Crawl]; before == nil || key[0] == byAddress || t.End > before.End {
			last[t.Crawl] = t
		}
		return nil
	})
	return all, joint, err
}

// A DirError says to which directory an error of Together belongs.
type DirError struct {
	Dir string
	Err error
}

func (e *DirError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DirError) Unwrap() error { return e.Err }

// A trace has the parts of a request that concern other crawls. Times and pauses are in
// microseconds.
type trace struct {
	Crawl      int
	Line       int64
	URL        string
	Start, End int64
	Pause      int64          // pause that other crawls must keep: at a host since End, at an address since Start
	Clock      frontier.Clock // clock for which the pause is required
}

// between is by how much the operating system may shorten the pause between requests of two
// processes.
const between = jitter

// judge compares a request with the last request of each other crawl.
func (j *Joint) judge(kind byte, last []*trace, t *trace) {
	for _, o := range last {
		if o == nil || o.Crawl == t.Crawl {
			continue
		}
		from, what := o.End, "the end"
		if kind == byAddress {
			from, what = o.Start, "the start"
		} else {
			j.Checks[j.at(Concurrent)].Checked++
		}
		kept, asked := time.Duration(t.Start-from)*time.Microsecond, time.Duration(o.Pause)*time.Microsecond
		code, text := TooEarly, ""
		switch {
		case kept < -tick && kind != byAddress:
			code, text = Concurrent, fmt.Sprintf("began %s before the end of line %d of %s, %s", rounded(-kept), o.Line, j.Crawls[o.Crawl], o.URL)
		case kept < asked-between:
			was, should := roundedApart(kept, asked)
			text = fmt.Sprintf("began %s after %s of line %d of %s, %s; required are %s", was, what, o.Line, j.Crawls[o.Crawl], o.URL, should)
		}
		if code == TooEarly {
			j.Checks[j.at(TooEarly)].Checked++
		}
		if text == "" {
			continue
		}
		v := Violation{
			Code: code, Lines: []int64{t.Line}, URL: t.URL, Time: time.UnixMicro(t.Start).UTC(), Rule: "crawls of one machine share clocks",
			Text: "of " + j.Crawls[t.Crawl] + " " + text,
		}
		if code == TooEarly {
			v.Pause = &Pause{Clock: o.Clock, Asked: asked.Seconds(), Kept: kept.Seconds()}
		}
		j.Checks[j.at(code)].Violations++
		if j.Violated++; len(j.Violations) < mostListed {
			j.Violations = append(j.Violations, v)
		}
	}
}

func (j *Joint) at(code Code) int {
	for i := range j.Checks {
		if j.Checks[i].Code == code {
			return i
		}
	}
	return -1
}

// trace passes a request to Options.mark. The caller must first set the pauses that are
// required after r.
func (a *auditor) trace(s *site, r *request) error {
	if a.Options.mark == nil || r.addr.IsValid() && r.addr.IsLoopback() || !r.public && !r.addr.IsValid() {
		return nil
	}
	run := &a.runs.all[r.run]
	t := trace{Line: r.line, URL: r.url.String(), Start: r.start.UnixMicro(), End: r.end.UnixMicro()}
	if s.last == r {
		for _, w := range s.asks {
			if us := w.pause.Microseconds(); w.forOthers && us > t.Pause {
				t.Pause, t.Clock = us, w.clock
			}
		}
	}
	kind, name := byte(byHost), "host "+r.site.Host()
	if !r.public {
		name = "site " + string(r.site)
	}
	err := a.Options.mark(kind, name, t)
	if err == nil && r.public && r.addr.IsValid() && run.ip > 0 {
		t.Pause, t.Clock = run.ip.Microseconds(), frontier.IPClock
		err = a.Options.mark(byAddress, r.addr.String(), t)
	}
	return err
}

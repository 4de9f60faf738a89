package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Copy is a line of robots.jsonl: a robots.txt that was in force, or what a try to get it
// came to, from Fetched until the next one of its site. The names of its fields are never
// changed.
type Copy struct {
	Site    frontier.Site `json:"site"`
	URL     string        `json:"url"`
	Final   string        `json:"final,omitempty"` // where redirects ended
	Fetched time.Time     `json:"fetched"`
	Status  int           `json:"status"`            // HTTP; 0: there was no answer
	Failure string        `json:"failure,omitempty"` // why
	Bytes   int           `json:"bytes"`             // decoded
	SHA256  string        `json:"sha256"`            // of them
	Good    time.Time     `json:"good,omitzero"`     // when the earlier copy was fetched that counts in its place
	Last    bool          `json:"last"`              // of its site: in force at the end

	// The tdmrep.json that was kept with it.
	Mining *Mining `json:"tdmrep,omitempty"`
}

// A Mining is a copy of a tdmrep.json.
type Mining struct {
	Fetched time.Time `json:"fetched"`
	Status  int       `json:"status"`
	Bytes   int       `json:"bytes"`
	SHA256  string    `json:"sha256"`
}

// writeRobots writes a line for each copy, sorted by site, and there by time.
func (w *writer) writeRobots(out io.Writer) (err error) {
	sites := w.newOrder(w.Temp)
	defer func() { err = errors.Join(err, sites.Close()) }()
	err = w.state.Sites(func(st frontier.SiteState) error { return sites.Add([]byte(st.Site), nil) })
	if err != nil {
		return err
	}
	return sites.Each(func(site, _ []byte) error { return w.writeCopies(out, frontier.Site(site)) })
}

// writeCopies writes a line for each copy of a site.
func (w *writer) writeCopies(out io.Writer, site frontier.Site) error {
	var before *robots.Snapshot
	for s, err := range w.state.Snapshots(site) {
		if err != nil {
			return err
		}
		if before != nil {
			if err := w.copied(out, site, before, false); err != nil {
				return err
			}
		}
		before = s
	}
	if before == nil {
		return nil
	}
	w.Robots.Sites++
	if err := w.copied(out, site, before, true); err != nil {
		return err
	}
	return w.ctx.Err()
}

func (w *writer) copied(out io.Writer, site frontier.Site, s *robots.Snapshot, last bool) error {
	w.Robots.Copies++
	c := Copy{
		Site: site, URL: s.URL, Final: s.Final, Fetched: s.Fetched.UTC(), Status: s.Status, Failure: s.Failure,
		Bytes: len(s.Body), SHA256: digestOf(s.Body), Last: last,
	}
	if good := s.Good(); good != nil && good != s {
		c.Good = good.Fetched.UTC()
	}
	if m := s.Mining; m != nil {
		c.Mining = &Mining{m.Fetched.UTC(), m.Status, len(m.Body), digestOf(m.Body)}
	}
	return line(out, c)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

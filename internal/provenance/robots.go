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

// A Copy is a line of robots.jsonl: a copy of a robots.txt, or the result of a failed attempt
// to fetch it. It was in force from Fetched until the Fetched of the site's next Copy. The
// names of its fields never change.
type Copy struct {
	Site    frontier.Site `json:"site"`
	URL     string        `json:"url"`
	Final   string        `json:"final,omitempty"` // the URL after all redirects; empty: the same URL
	Fetched time.Time     `json:"fetched"`
	Status  int           `json:"status"`            // HTTP status; 0: there was no answer
	Failure string        `json:"failure,omitempty"` // why there was no answer; empty: there was one
	Bytes   int           `json:"bytes"`             // length of the decoded body, in bytes
	SHA256  string        `json:"sha256"`            // SHA-256 of the decoded body, in hexadecimal
	Good    time.Time     `json:"good,omitzero"`     // if an earlier copy was used instead of this one: when that was fetched
	Last    bool          `json:"last"`              // this is the last Copy of its site, in force at the end of the crawl

	// Mining is the tdmrep.json of the site that was stored together with the robots.txt.
	Mining *Mining `json:"tdmrep,omitempty"`
}

// A Mining is a copy of a tdmrep.json.
type Mining struct {
	Fetched time.Time `json:"fetched"`
	Status  int       `json:"status"`
	Bytes   int       `json:"bytes"`
	SHA256  string    `json:"sha256"`
}

// writeRobots writes a line for each Copy, sorted by site and then by time.
func (w *writer) writeRobots(out io.Writer) (err error) {
	sites := w.newOrder(w.Temp)
	defer func() { err = errors.Join(err, sites.Close()) }()
	for st, err := range w.state.Sites() {
		if err == nil {
			err = sites.Add([]byte(st.Site), nil)
		}
		if err != nil {
			return err
		}
	}
	return sites.Each(func(site, _ []byte) error { return w.writeCopies(out, frontier.Site(site)) })
}

// writeCopies writes a line for each Copy of a site.
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
	return w.quit()
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

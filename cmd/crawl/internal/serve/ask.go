package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/frontier"
)

// Bounds of an answer to a query.
const (
	mostListed = 500
	maxQuery   = 20 * time.Second
	maxAnswer  = 4 << 20 // bytes
)

// errEnough ends a query that has more than a page shows.
var errEnough = errors.New("that is enough")

// An answer collects lines. It fails with errEnough if there are more than most.
type answer struct {
	text  bytes.Buffer
	lines int
	most  int // 0 means any number
}

func (a *answer) Write(p []byte) (int, error) {
	if a.most > 0 && a.lines >= a.most || a.text.Len()+len(p) > maxAnswer {
		return 0, errEnough
	}
	a.lines += bytes.Count(p, []byte("\n"))
	return a.text.Write(p)
}

// ask asks a query. more is true if the answer is not whole.
func (s *Server) ask(ctx context.Context, dir string, q Query, most int) (text []byte, more bool, err error) {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	default:
		return nil, false, fmt.Errorf("%d other queries are running: try again when one of them has ended", mostQueries)
	}
	ctx, cancel := context.WithTimeout(ctx, maxQuery)
	defer cancel()
	a := &answer{most: most}
	err = s.options.Ask(ctx, dir, q, a)
	if errors.Is(err, errEnough) || err != nil && ctx.Err() != nil && a.lines > 0 {
		return a.text.Bytes(), true, nil
	}
	return a.text.Bytes(), false, err
}

// A listed is a URL in a list.
type listed struct {
	URL, Href, Site, SiteHref, Fate, Reason, Status, Time string
}

// A listView is a list of URLs, with what was asked.
type listView struct {
	Site  string
	Fates []choice
	Rows  []listed
	More  bool
}

// A choice is a value that a form offers.
type choice struct {
	Value, Words string
	On           bool
}

// list answers with a list of URLs.
func (s *Server) list(w http.ResponseWriter, r *http.Request, p *place) {
	q := r.URL.Query()
	of := Query{Site: q.Get("site")}
	v := listView{Site: of.Site}
	for _, c := range frontier.Fates() {
		name := c.String()
		on := slices.Contains(q["fate"], name)
		if v.Fates = append(v.Fates, choice{name, c.Words(), on}); on {
			of.Fates = append(of.Fates, name)
		}
	}
	page := frame{Title: "URLs of " + filepath.Base(p.dir), Above: append(above(p), link{"./", filepath.Base(p.dir)})}
	text, more, err := s.ask(r.Context(), p.dir, of, mostListed)
	if err != nil {
		page.Noted = say.WithoutPackages(err.Error())
	}
	v.More = more
	for row := range bytes.Lines(text) {
		var one struct {
			URL    string    `json:"url"`
			Fate   string    `json:"fate"`
			Reason string    `json:"reason"`
			Status int       `json:"status"`
			Time   time.Time `json:"time"`
		}
		if json.Unmarshal(row, &one) != nil {
			continue
		}
		l := listed{URL: one.URL, Href: explainLink(one.URL), Fate: one.Fate, Reason: one.Reason}
		if !one.Time.IsZero() {
			l.Time = say.Stamp(one.Time)
		}
		if u, err := frontier.ParseURL(one.URL); err == nil {
			l.Site = string(u.Site())
			l.SiteHref = listLink(l.Site)
		}
		v.Rows = append(v.Rows, l)
	}
	page.Extra = v
	render(w, http.StatusOK, "list", page)
}

// An explainView is what is known of a URL.
type explainView struct {
	URL   string
	Lines []line
}

// explain answers with all that is known of a URL.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, p *place) {
	v := explainView{URL: r.URL.Query().Get("url")}
	page := frame{Title: "Why?", Above: append(above(p), link{"./", filepath.Base(p.dir)})}
	if v.URL != "" {
		text, more, err := s.ask(r.Context(), p.dir, Query{URL: v.URL}, 0)
		switch {
		case err != nil:
			page.Noted = say.WithoutPackages(err.Error())
		case more:
			page.Noted = "The answer took too long, and is not whole."
		}
		v.Lines = labelled(string(text), true)
	}
	page.Extra = v
	render(w, http.StatusOK, "explain", page)
}

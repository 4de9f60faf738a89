package report

import (
	"cmp"
	"errors"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
)

// ErrNoArchive is returned by Dir if Options.Near is set and the crawl has no WARC files.
var ErrNoArchive = errors.New("near-duplicates are found by the texts of pages, and these are in WARC files, which this crawl does not have")

// A Near has the near-duplicates: pages whose main text is nearly the same as the main text of
// an earlier page.
type Near struct {
	Pages  int64                `json:"pages"`  // number of near-duplicates, without the first page of each group
	Unread int64                `json:"unread"` // number of pages that could not be compared, and of parts of the archive that cannot be read
	Groups Table[NearDuplicate] `json:"groups"`
}

// A NearDuplicate is a group of pages whose main texts are nearly the same.
type NearDuplicate struct {
	Pages int64    `json:"pages"` // number of pages in the group, with the first one
	URLs  []string `json:"urls"`  // the first page of the group, and some of its near-duplicates
	Title string   `json:"title,omitempty"`
}

// readNear finds near-duplicates in the archive. It compares each page with earlier pages, and
// takes it for a near-duplicate of at most one of them.
func (r *reporter) readNear() (err error) {
	if !r.Options.Near {
		return nil
	}
	source, err := export.Open(r.dirs[0])
	switch {
	case errors.Is(err, export.ErrNoCrawl), err == nil && len(source.WARCs) == 0:
		return ErrNoArchive
	case err != nil:
		return err
	}
	near := &Near{}
	source.Temp = r.Temp
	unread := int64(0) // written by another goroutine, which ends before Documents returns
	source.Damaged = func(*export.Damage) error { unread++; return nil }
	pages := r.order(r.Temp) // the near-duplicates, sorted by the first page of their group
	defer func() { err = errors.Join(err, pages.Close()) }()
	for d, err := range corpus.Documents(r.ctx, source, source.Rows(r.ctx), corpus.Options{Near: true}) {
		switch {
		case err != nil:
			return err
		case d.Error != "":
			near.Unread++
		case d.Near != "" && d.Near != d.URL: // skip a page that is nearly the same as an earlier fetch of the same URL
			if err := pages.Add([]byte(d.Near), []byte(d.URL)); err != nil {
				return err
			}
		}
	}
	near.Unread += unread
	near.Groups, near.Pages, err = groups(pages)
	r.Report.Near = near
	return err
}

// groups returns the groups with the most pages, and the number of near-duplicates in all
// groups. A page that was fetched several times counts once in its group.
func groups(pages order) (table Table[NearDuplicate], n int64, err error) {
	all := top[NearDuplicate]{most: mostRows, order: func(a, b NearDuplicate) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.URLs[0], b.URLs[0]))
	}}
	var g NearDuplicate
	last := ""
	err = pages.Each(func(first, url []byte) error {
		if g.Pages == 0 || g.URLs[0] != string(first) {
			if g.Pages > 0 {
				all.add(g)
			}
			g, last = NearDuplicate{Pages: 1, URLs: []string{string(first)}}, ""
		}
		if last == string(url) {
			return nil
		}
		last = string(url)
		n++
		if g.Pages++; len(g.URLs) <= mostExample {
			g.URLs = append(g.URLs, string(url))
		}
		return nil
	})
	if g.Pages > 0 {
		all.add(g)
	}
	return all.table(), n, err
}

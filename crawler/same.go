package crawler

import (
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/same"
	"github.com/permesso-crawler/permesso/robots"
)

// Together combines several functions for Options.Same, or for Options.Rewrite. Each function is
// called with the result of the function before it, again and again until no function changes the
// URL. If a function returns the zero URL, Together returns it.
func Together(rules ...func(frontier.URL) frontier.URL) func(frontier.URL) frontier.URL {
	return same.Together(rules...)
}

// SortQuery sorts the parameters of a query by name. It is a function for Options.Same or
// Options.Rewrite. Parameters of the same name keep their order. It is safe for concurrent use.
func SortQuery(u frontier.URL) frontier.URL { return same.SortQuery(u) }

// StripIndex removes the name of an index page, such as index.html, index.php or default.asp, from
// the end of a path. It is a function for Options.Same or Options.Rewrite. Upper case makes no
// difference. The query stays. It is safe for concurrent use.
func StripIndex(u frontier.URL) frontier.URL { return same.StripIndex(u) }

// StripTracking removes parameters that identify a visitor, or say where the visitor came from. It
// is a function for Options.Rewrite or Options.Same. It removes utm_source and similar parameters
// (of Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Matomo and of newsletters). It also
// removes session ids (jsessionid, PHPSESSID, sid ...) that have at least 12 characters and no
// slash. The rest of the query stays unchanged and in order. It is safe for concurrent use.
func StripTracking(u frontier.URL) frontier.URL { return same.StripTracking(u) }

// same returns Entry.Same for u, by the Clean-param lines in clean, which may be nil, and
// Options.Same.
func (o *Options) same(u frontier.URL, clean *robots.Cleaner) frontier.URL {
	return same.Of(u, clean, o.Same)
}

// sameSeeds sets Entry.Same of each seed. The error is an *OptionError if Options.Same panics.
func (o *Options) sameSeeds(seeds []frontier.Entry) error {
	for i := range seeds {
		e := &seeds[i]
		if err := safely("Same", func() { e.Same = o.same(e.URL, nil) }); err != nil {
			return &OptionError{Field: "Same", Reason: err.Error(), Err: err}
		}
	}
	return nil
}

// ownKey returns the key (Entry.Key) of the page's URL under the current Options.Same and
// Options.CleanParam. It returns "" if neither applies to the page.
func (o *Options) ownKey(p *Page) string {
	if o.Same == nil && p.clean == nil {
		return ""
	}
	e := frontier.Entry{URL: p.URL, Same: o.same(p.URL, p.clean)}
	return e.Key()
}

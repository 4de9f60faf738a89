// Package crawldir looks at the directory that a user names: whether it contains a crawl, a
// series of crawls, or neither. Its errors say which directory to name instead, and have the
// exit code of a mistake of the user.
package crawldir

import (
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Of returns the directory of a crawl that is named after a URL.
func Of(u frontier.URL) string { return strings.ReplaceAll(u.Host(), ":", "_") + ".crawl" }

// Missing returns the error that there is no directory dir. If dir is a URL or a host, and the
// directory that is named after it has a crawl, the error suggests this directory.
func Missing(dir string) error {
	what, url := "there is no directory "+dir, "http://"+dir
	if strings.Contains(dir, "://") {
		what, url = dir+" is a URL, and not the directory of a crawl", dir
	}
	if u, err := frontier.ParseURL(url); err == nil && (url == dir || u.Target() == "/") && Exists(filepath.Join(Of(u), store.StateFile)) {
		return exit.Usagef("%s: did you mean %s?", what, Of(u))
	}
	return exit.Usagef("%s: give that of a crawl, as news.crawl", what)
}

// Exists reports whether there is a file or a directory at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Open opens the state of the crawl in dir, and returns the options of its last run.
func Open(dir string) (*store.Reader, account.Stored, error) {
	switch {
	case !Exists(dir):
		return nil, account.Stored{}, Missing(dir)
	case !Exists(filepath.Join(dir, store.StateFile)):
		return nil, account.Stored{}, NoCrawl(dir)
	}
	r, err := store.OpenReader(dir)
	return opened(r, exit.Meanwhile(dir, err))
}

// OpenWhole is like Open, and also opens crawls on several machines: the one in the database that
// the flag --state names, or the one that has a node with the directory dir. Nodes may run meanwhile.
// If the flag is given, dir may be empty.
func OpenWhole(state, dir string) (*store.Reader, account.Stored, error) {
	if state == "" && !nodes.Is(dir) {
		return Open(dir)
	}
	if dir != "" && !Exists(dir) {
		return nil, account.Stored{}, Missing(dir)
	}
	return opened(nodes.Open(state, dir))
}

// opened returns a reader that was opened, and the options of the last run. If there was none, opened
// closes the reader.
func opened(r *store.Reader, err error) (*store.Reader, account.Stored, error) {
	if err != nil {
		return nil, account.Stored{}, err
	}
	stored, begun, err := account.ReadStored(r)
	if err == nil && !begun {
		err = empty(r)
	}
	if err != nil {
		r.Close()
		return nil, stored, err
	}
	return r, stored, nil
}

// empty returns a *store.NotBegunError if the crawl has no site yet. It does not look at the
// settings, because a crawl that a program has made with package storage alone has none, but
// may have sites.
func empty(r *store.Reader) error {
	for _, err := range r.Names() {
		return err
	}
	return &store.NotBegunError{Dir: r.Dir()}
}

// IsOther reports whether dir is the directory of a series of crawls, or of a node. NoCrawl then
// says what to do.
func IsOther(dir string) bool { return Newest(dir) != "" || nodes.Is(dir) }

// NoCrawl returns the error that there is no crawl in dir. If dir is a series of crawls, the
// error names one of these crawls.
func NoCrawl(dir string) error {
	if last := Newest(dir); last != "" {
		return exit.Usagef("%s is a series of crawls, and this command reads one: name a snapshot of it, as %s", dir, last)
	}
	if nodes.Is(dir) {
		return exit.Usagef("%s has the outputs of one node of a crawl, whose state is in a database: crawl collect makes one crawl of all nodes", dir)
	}
	return exit.Usagef("there is no crawl in %s: it has no %s", dir, store.StateFile)
}

// Newest returns the newest crawl (snapshot) of the series in dir. It returns "" if dir is a
// crawl itself, or is not a series.
func Newest(dir string) string {
	if Exists(filepath.Join(dir, store.StateFile)) {
		return ""
	}
	all, err := series.Series{Dir: dir}.Snapshots()
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Dir
}

// maxKnownSites is the maximum number of sites among which LikeSite searches.
const maxKnownSites = 10_000

// LikeSite guesses which site a user means by a name that no site has. It returns ": did
// you mean ...?", or "" if no site is like the name.
func LikeSite(sites iter.Seq2[frontier.Site, error], name string) (string, error) {
	var known []string
	for site, err := range sites {
		if err != nil {
			return "", err
		}
		text := string(site)
		if !strings.Contains(name, "://") {
			text = site.Authority()
		}
		if known = append(known, text); len(known) == maxKnownSites {
			break
		}
	}
	if like := guess.DidYouMean(name, known); like != "" {
		return ": " + strings.TrimSpace(like), nil
	}
	return "", nil
}

// UnknownSites returns the error that a crawl has none of the sites with these names.
func UnknownSites(sites iter.Seq2[frontier.Site, error], names []string) error {
	like, err := LikeSite(sites, names[0])
	if err != nil {
		return err
	}
	return exit.Usagef("the crawl has no URL of %s%s", strings.Join(names, ", "), like)
}

// Over reports whether the crawl in dir is a snapshot of a series that is over: no run
// continues it.
func Over(dir string) bool {
	if !Exists(filepath.Join(dir, series.FactsFile)) {
		return false
	}
	state, err := series.Snapshot{Dir: dir}.State()
	return err == nil && state.Over
}

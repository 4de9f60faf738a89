// Command mirror copies sites to a directory, so that they can be browsed without a network:
// pages with their images, style sheets and scripts.
//
//	go run ./examples/mirror example https://example.org/
//
// Then open example/https.example.org/index.html in a browser. Links to pages that were fetched
// lead to their copies, other links to the site.
//
// The crawl is in example/crawl. After a kill the same command continues it. When the crawl has
// ended, each run writes all copies, so a copy that a kill has left incomplete is written anew.
// Links that scripts make are not changed. Pages whose owners refuse archives have no copy.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: mirror DIRECTORY URL...")
	}
	err := mirror(context.Background(), os.Args[1], crawler.Options{
		Identity: crawler.Identity{Token: "mirrorbot", Contact: "https://example.org/mirrorbot"},
		Seeds:    os.Args[2:],
	})
	if err != nil {
		log.Fatal(err)
	}
}

// mirror crawls, and then copies the pages of the crawl to dir.
func mirror(ctx context.Context, dir string, opts crawler.Options) error {
	opts.Dir, opts.Requisites, opts.Purpose = filepath.Join(dir, "crawl"), true, robots.PurposeArchive
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	if err := c.Run(ctx, nil); err != nil {
		return err
	}
	m := copies{files: map[string]string{}, redirects: map[string]frontier.URL{}, taken: map[string]bool{}}
	for p, err := range crawler.ReadPages(ctx, opts.Dir) {
		if err != nil {
			return err
		}
		m.add(p)
	}
	for p, err := range crawler.ReadPages(ctx, opts.Dir) {
		if err == nil {
			err = m.write(dir, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copies has the names of the copies, with slashes, relative to the directory of the mirror.
type copies struct {
	files     map[string]string       // by the key of the URL
	redirects map[string]frontier.URL // targets, by the key of the URL
	taken     map[string]bool         // the names in files, in lower case
}

// add chooses the name of a page.
func (m *copies) add(p *crawler.Page) {
	m.redirects[p.URL.Key()] = p.Location
	if p.Status != http.StatusOK || len(p.Body) == 0 {
		return
	}
	u, name := p.URL, nameOf(p.URL, p.Type)
	if len(name) > 200 || m.taken[strings.ToLower(name)] {
		name = fmt.Sprintf("more/%x%s", sha256.Sum256([]byte(u.Key())), path.Ext(name))
	}
	m.files[u.Key()], m.taken[strings.ToLower(name)] = name, true
}

// nameOf returns a readable name for the copy of a page. Another page may have the same name,
// and the name may be too long. The name of the file has a period, the names of directories
// below that of the host have none. So no copy has the name of a directory.
func nameOf(u frontier.URL, mediaType string) string {
	target, query, _ := strings.Cut(u.Target(), "?")
	dir, base := path.Split(target)
	ext := path.Ext(base)
	if len(ext) > 8 {
		ext = ""
	}
	base = strings.TrimSuffix(base, ext)
	switch page := extract.IsHTML(mediaType); {
	case page && ext == "":
		dir, base, ext = path.Join(dir, base), "index", ".html"
	case page && ext != ".html" && ext != ".htm":
		ext += ".html"
	case mediaType == "text/css" && ext != ".css":
		ext += ".css" // browsers know a style sheet in a file by this
	case ext == "":
		ext = ".bin"
	}
	base = cmp.Or(base, "index")
	if query != "" {
		base += "_" + strings.ReplaceAll(query, "/", "_")
	}
	host := strings.Replace(string(u.Site()), "://", ".", 1)
	return plain(path.Join(host, strings.ReplaceAll(dir, ".", "_"), base+ext))
}

// of returns the name of the copy of u, or "" if u was not fetched. It follows redirects.
func (m *copies) of(u frontier.URL) (name string) {
	for hops := 0; name == "" && hops < 10 && !u.IsZero(); hops++ {
		name, u = m.files[u.Key()], m.redirects[u.Key()]
	}
	return name
}

// write writes the copy of a page to dir, if the page has one.
func (m *copies) write(dir string, p *crawler.Page) error {
	name, ok := m.files[p.URL.Key()]
	if !ok {
		return nil
	}
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, m.body(name, p), 0o666)
}

// body returns the contents of the copy with the given name. Its links are relative.
func (m *copies) body(name string, page *crawler.Page) []byte {
	link := func(ref string) string {
		to, err := page.Resolve(ref)
		if err != nil || ref == "" || ref[0] == '#' {
			return ref // for instance mailto: or data:
		}
		_, fragment, has := strings.Cut(ref, "#")
		if has {
			fragment = "#" + fragment
		}
		file := m.of(to)
		if file == "" {
			return to.String() + fragment
		}
		rel, err := filepath.Rel(path.Dir(name), file)
		if err != nil {
			return to.String() + fragment
		}
		return filepath.ToSlash(rel) + fragment
	}
	switch {
	case extract.IsHTML(page.Type):
		return rewrite(page, link)
	case page.Type == "text/css":
		return []byte("\ufeff" + replace(inStyle, string(page.Text()), link)) // the mark says that the file is in UTF-8
	}
	return page.Body
}

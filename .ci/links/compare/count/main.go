// Count compares what list found with what other programs found in the same pages:
//
//	count ROOT OURS.jsonl NAME=FILE:MODE...
//
// A line of FILE is a page below ROOT, a mode (several have commas between), the element
// and attribute of the URL, and the URL, with tabs between. URLs are compared as the
// crawler writes them, without the part after #, each once a page and hop.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

const (
	link  = "L" // navigation
	embed = "E" // is needed to show the page
)

// A reference is a URL that a page has, and why.
type reference struct{ page, hop, url string }

// found are references, each with its element and attribute, and the pages that were read.
type found struct {
	refs  map[reference]string
	pages map[string]bool
}

func newFound() found { return found{map[reference]string{}, map[string]bool{}} }

func main() {
	if err := count(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}

func count(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: count ROOT OURS.jsonl NAME=FILE:MODE, and more of these")
	}
	ours, err := readOurs(args[1])
	if err != nil {
		return err
	}
	var totals, kinds strings.Builder
	for _, arg := range args[2:] {
		name, from, ok := strings.Cut(arg, "=")
		file, mode, ok2 := strings.Cut(from, ":")
		if !ok || !ok2 {
			return fmt.Errorf("%q is not NAME=FILE:MODE", arg)
		}
		theirs, err := readTheirs(file, mode, ours)
		if err != nil {
			return err
		}
		compare(&totals, &kinds, name, ours, theirs, args[0])
	}
	fmt.Printf("| program | pages | links it finds | we find | only it | only we | requisites it finds | we find | only it | only we |\n")
	fmt.Printf("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n%s\n", totals.String())
	fmt.Printf("| program | found by | hop | where | references | pages | one of them |\n|---|---|---|---|---:|---:|---|\n%s", kinds.String())
	return nil
}

func lines(name string, each func(string) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReader(file)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			if err := each(strings.TrimSuffix(line, "\n")); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readOurs(name string) (found, error) {
	ours := newFound()
	err := lines(name, func(line string) error {
		var page struct {
			File  string
			Links [][4]string
			Cut   bool
		}
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			return err
		}
		if page.Cut {
			return fmt.Errorf("%s has more links than are taken: leave it out", page.File)
		}
		ours.pages[page.File] = true
		for _, l := range page.Links {
			if l[0] != "form/action" { // only found if requested
				ours.add(page.File, l[2], l[0], l[1])
			}
		}
		return nil
	})
	return ours, err
}

// add adds a reference with the first element and attribute that has it.
func (f found) add(page, hop, where, url string) {
	url, _, _ = strings.Cut(url, "#")
	r := reference{page, hop, url}
	if _, ok := f.refs[r]; !ok {
		f.refs[r] = where
	}
}

func readTheirs(name, mode string, ours found) (found, error) {
	theirs := newFound()
	failed := map[string]bool{}
	modes := strings.Split(mode, ",")
	for page := range ours.pages {
		theirs.pages[page] = mode != "scripts" && mode != "plain"
	}
	err := lines(name, func(line string) error {
		part := strings.SplitN(line, "\t", 4)
		if len(part) != 4 {
			return fmt.Errorf("%q has no four parts", line)
		}
		page, where, raw := part[0], part[2], part[3]
		if !slices.Contains(modes, part[1]) {
			return nil
		}
		if where == "failed" {
			failed[page] = true
			return nil
		}
		theirs.pages[page] = true
		if where == "none" {
			return nil
		}
		canonical, odd := normal(raw)
		theirs.add(page, hopOf(where, page, canonical, ours), where+odd, canonical)
		return nil
	})
	maps.DeleteFunc(theirs.pages, func(page string, read bool) bool { return !read || failed[page] })
	return theirs, err
}

// normal returns a URL as the crawler writes it. If the crawler refuses it, normal returns
// the URL unchanged, and why.
func normal(raw string) (canonical, odd string) {
	u, err := frontier.ParseURL(raw)
	if err == nil {
		return u.String(), ""
	}
	switch scheme := strings.ToLower(schemeOf.FindString(raw)); scheme {
	case "", "http:", "https:", "ftp:":
		return raw, ", no URL"
	case "javascript:", "mailto:", "file:":
		return raw, ", " + scheme
	default:
		return raw, ", another scheme"
	}
}

var schemeOf = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// hopOf returns the hop of a reference by its element and attribute. For a program that
// does not report the rel of link elements, ours is used.
func hopOf(where, page, url string, ours found) string {
	where = strings.ToLower(where)
	switch where {
	case "link/href":
		url, _, _ = strings.Cut(url, "#")
		if ours.refs[reference{page, embed, url}] == where {
			return embed
		}
		return link
	case "default", "link", "rel-link", "links", "frame", "refresh", "links-by-script":
		return link
	}
	element, attribute, _ := strings.Cut(where, "/")
	switch attribute {
	case "href", "cite", "longdesc":
		return link
	case "src":
		if element == "frame" || element == "iframe" {
			return link
		}
	}
	return embed
}

// loose returns a URL in a lenient form: with character references and escapes resolved,
// and double slashes joined.
func loose(r reference) reference {
	raw := html.UnescapeString(r.url)
	if plain, err := url.PathUnescape(raw); err == nil {
		raw = plain
	}
	r.url = strings.Join(strings.FieldsFunc(raw, func(c rune) bool { return c == '/' || c <= ' ' || c == '\ufffd' }), "/")
	return r
}

// A kind is a kind of references that one program has and the other does not.
type kind struct{ hop, by, where string }

type tally struct {
	refs  int
	pages map[string]bool
	one   string
}

// A comparison is about what two programs found in the pages that both have read.
type comparison struct {
	root  string
	kinds map[kind]*tally
	total map[kind]int
}

func (c *comparison) missing(by string, r reference, where string) {
	c.total[kind{r.hop, by + " only", ""}]++
	k := kind{r.hop, by, where}
	if c.kinds[k] == nil {
		c.kinds[k] = &tally{pages: map[string]bool{}}
	}
	t := c.kinds[k]
	t.refs++
	t.pages[r.page] = true
	if one := strings.ReplaceAll(r.page+" has "+r.url, c.root, ""); t.one == "" || one < t.one {
		t.one = one
	}
}

// only records what one program has found and the other has not.
func (c *comparison) only(by string, these, others found, pages map[string]bool) {
	forgiven := map[reference]bool{}
	for r := range others.refs {
		if _, ok := these.refs[r]; !ok && pages[r.page] {
			forgiven[loose(r)] = true
		}
	}
	other := map[string]string{link: embed, embed: link}
	for r, where := range these.refs {
		if !pages[r.page] {
			continue
		}
		c.total[kind{r.hop, by, ""}]++
		if _, ok := others.refs[r]; ok {
			continue
		}
		_, otherwise := others.refs[reference{r.page, other[r.hop], r.url}]
		switch {
		case forgiven[loose(r)]:
			where += ", written otherwise"
		case otherwise:
			where += ", with the other hop"
		case r.url == site+r.page:
			where += ", the page itself"
		}
		c.missing(by, r, where)
	}
}

const site = "http://docs.test"

func compare(totals, kinds *strings.Builder, name string, ours, theirs found, root string) {
	c := comparison{root, map[kind]*tally{}, map[kind]int{}}
	c.only("it", theirs, ours, theirs.pages)
	c.only("us", ours, theirs, theirs.pages)
	fmt.Fprintf(totals, "| %s | %d", name, len(theirs.pages))
	for _, hop := range []string{link, embed} {
		for _, what := range []string{"it", "us", "it only", "us only"} {
			fmt.Fprintf(totals, " | %d", c.total[kind{hop, what, ""}])
		}
	}
	totals.WriteString(" |\n")
	sorted := slices.SortedFunc(maps.Keys(c.kinds), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(c.kinds[b].refs, c.kinds[a].refs), cmp.Compare(a.hop+a.where, b.hop+b.where))
	})
	for _, k := range sorted {
		t := c.kinds[k]
		fmt.Fprintf(kinds, "| %s | %s | %s | %s | %d | %d | `%s` |\n", name, k.by, k.hop, k.where, t.refs, len(t.pages), t.one)
	}
}

package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const taskRules = "User-agent: *\nDisallow: /basket\nCrawl-delay: 1\n"

// copyOf is in each file of the sites mirror and media, before the path of the file.
const copyOf = "copy-of:"

// sites are the sites of the tasks, by the name of the task.
var sites = map[string]*site{
	"api":        {taskRules, apiPage},
	"feeds":      {taskRules, feedsPage},
	"changes":    {taskRules + "Sitemap: http://shop.test/sitemap.xml\n", changesPage},
	"corpus":     {taskRules + "Content-Usage: /docs/5 train-ai=n\n", corpusPage},
	"policy":     {taskRules, policyPage},
	"mirror":     {taskRules, mirrorPage},
	"media":      {taskRules, mediaPage},
	"ownfetcher": {taskRules, ownPage},
	"customers":  {taskRules, ownPage},
}

const (
	apiPages   = 5
	feedItems  = 3
	sections   = 8 // pages of a section
	topics     = 4
	newest     = 15 // articles of a topic
	oldest     = 25
	ownPages   = 12
	watched    = 12
	newFeeds   = 4
	mediaPages = 3
)

// apiPage serves an API whose third answer demands a pause, once.
func apiPage(s *shop, w http.ResponseWriter, r *http.Request) {
	n := 1
	if query := r.URL.Query().Get("page"); r.URL.Path != "/items" || query != "" && (!scan(query, &n) || n > apiPages) {
		http.NotFound(w, r)
		return
	}
	if n == 3 && s.busy(time.Now()) {
		refuse(w, http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var items []string
	for i := 4*n - 3; i <= 4*n; i++ {
		items = append(items, fmt.Sprintf(`{"name": "item-%d"}`, i))
	}
	next := ""
	if n < apiPages {
		next = fmt.Sprintf(`, "next": "/items?page=%d"`, n+1)
	}
	fmt.Fprintf(w, `{"items": [%s]%s}`, strings.Join(items, ", "), next)
}

// notModified answers with status 304 if the crawler has the version.
func notModified(s *shop, w http.ResponseWriter, r *http.Request, version string) bool {
	w.Header().Set("ETag", version)
	if r.Header.Get("If-None-Match") != version {
		return false
	}
	s.figures.Unchanged++
	w.WriteHeader(http.StatusNotModified)
	return true
}

// feedsPage serves feeds. The first has a new item in phase 1.
func feedsPage(s *shop, w http.ResponseWriter, r *http.Request) {
	var n int
	if !scan(strings.TrimPrefix(r.URL.Path, "/feed/"), &n) || n > newFeeds {
		http.NotFound(w, r)
		return
	}
	last := feedItems
	if n == 1 {
		last += s.phase
	}
	if notModified(s, w, r, fmt.Sprintf(`"%d"`, last)) {
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, []string{`<rss version="2.0"><channel><title>Feed</title>`, `<feed xmlns="http://www.w3.org/2005/Atom"><title>Feed</title>`}[n%2])
	for i := last; i > 0; i-- {
		url := fmt.Sprintf("http://shop.test/item/%d-%d", n, i)
		if n%2 == 0 {
			fmt.Fprintf(w, "<item><title>Item %d</title><link>%s</link></item>", i, url)
		} else {
			fmt.Fprintf(w, `<entry><title>Item %d</title><link href="%s"/></entry>`, i, url)
		}
	}
	fmt.Fprint(w, []string{"</channel></rss>", "</feed>"}[n%2])
}

// changesPage serves a sitemap and its pages. In phase 1 page 2 has another text, page 3 another
// class, page 4 is gone, and there is one page more.
func changesPage(s *shop, w http.ResponseWriter, r *http.Request) {
	last := watched + s.phase
	if r.URL.Path == "/sitemap.xml" {
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://shop.test/basket/special</loc></url>`)
		for n := 1; n <= last; n++ {
			if n != 4 || s.phase == 0 {
				fmt.Fprintf(w, "<url><loc>http://shop.test/page/%d</loc></url>", n)
			}
		}
		fmt.Fprint(w, "</urlset>")
		return
	}
	var n int
	if !scan(strings.TrimPrefix(r.URL.Path, "/page/"), &n) || n > last || n == 4 && s.phase > 0 {
		http.NotFound(w, r)
		return
	}
	text, class := 0, 0
	switch n {
	case 2:
		text = s.phase
	case 3:
		class = s.phase
	}
	if !notModified(s, w, r, fmt.Sprintf(`"%d-%d"`, text, class)) {
		fmt.Fprintf(w, `<!doctype html><title>Page %d</title><p class="c%d">Text %d of page %[1]d.`, n, class, text)
	}
}

// corpusPage serves two sections. The owner refuses training with pages 3, 4 and 5 of docs, by a
// tag, a header and robots.txt.
func corpusPage(_ *shop, w http.ResponseWriter, r *http.Request) {
	var n int
	section, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if section != "docs" && section != "news" || name != "" && (!scan(name, &n) || n > sections) {
		http.NotFound(w, r)
		return
	}
	meta := ""
	switch {
	case section == "docs" && n == 3:
		meta = `<meta name="robots" content="noai">`
	case section == "docs" && n == 4:
		w.Header().Set("X-Robots-Tag", "noai")
	}
	fmt.Fprintf(w, `<!doctype html><title>%s %d</title>%s<script>var hidden;</script><p>Words of %[1]s %[2]d. <a href="/">Home</a> <a href="/basket/add">Buy</a>`, section, n, meta)
	for i := range sections {
		if n == 0 {
			fmt.Fprintf(w, ` <a href="/%s/%d">link %[2]d</a>`, section, i+1)
		}
	}
}

// policyPage serves topics with old articles first, and more pages than the program requests.
func policyPage(_ *shop, w http.ResponseWriter, r *http.Request) {
	var n int
	switch path := r.URL.Path; {
	case path == "/":
		fmt.Fprint(w, `<!doctype html><title>News</title>`)
		for i := range topics {
			fmt.Fprintf(w, ` <a href="/topic/%d">Topic %[1]d</a>`, i+1)
		}
	case strings.HasPrefix(path, "/topic/") && scan(path[len("/topic/"):], &n) && n <= topics:
		fmt.Fprintf(w, `<!doctype html><title>Topic %d</title>`, n)
		for i := range oldest {
			fmt.Fprintf(w, ` <a href="/%s/old-%d-%d">Article</a>`, time.Now().AddDate(0, 0, i-200).Format("2006/01/02"), n, i+1)
		}
		for i := range newest {
			fmt.Fprintf(w, ` <a href="/%s/new-%d-%d">Article</a>`, time.Now().AddDate(0, 0, -i).Format("2006/01/02"), n, i+1)
		}
	case strings.Contains(path, "/old-"), strings.Contains(path, "/new-"):
		fmt.Fprintf(w, `<!doctype html><title>%s</title><a href="/">Home</a> <a href="/basket/add">Buy</a>`, path)
	default:
		http.NotFound(w, r)
	}
}

// mirrorPage serves pages with their images, a style sheet and a script. The owner of /private
// refuses archives.
func mirrorPage(_ *shop, w http.ResponseWriter, r *http.Request) {
	types := map[string]string{"/style.css": "text/css", "/app.js": "text/javascript", "/a.png": "image/png", "/bg.png": "image/png"}
	if t := types[r.URL.Path]; t != "" {
		w.Header().Set("Content-Type", t)
	}
	switch target := r.URL.RequestURI(); target {
	case "/style.css":
		fmt.Fprintf(w, `/* %s%s */ body { background: url("bg.png") }`, copyOf, target)
	case "/app.js", "/a.png", "/bg.png":
		fmt.Fprintf(w, "// %s%s ", copyOf, target)
	case "/old":
		http.Redirect(w, r, "/guide/one", http.StatusMovedPermanently)
	case "/", "/guide/one", "/guide/two", "/list?page=1", "/list?page=2", "/about.html", "/private":
		meta := ""
		if target == "/private" {
			meta = `<meta name="robots" content="noarchive">`
		}
		fmt.Fprintf(w, `<!doctype html><html><head><title>Page</title>%s<link rel="stylesheet" href="/style.css"><script src="/app.js"></script></head>
<body><p>%s%s <a href="/">Home</a> <a href="/guide/one#top">One</a> <a href="/guide/two">Two</a> <a href="/list?page=1">List</a> <a href="/list?page=2">More</a>
<a href="/about.html">About</a> <a href="/old">Old</a> <a href="/private">Private</a> <a href="/basket/add">Buy</a> <a href="/gone">Gone</a>
<img src="/a.png" alt=""></p></body></html>`, meta, copyOf, target)
	default:
		http.NotFound(w, r)
	}
}

// mediaPage serves pages with images. Each page names a license for its images. One image
// is in all pages, and has two URLs.
func mediaPage(_ *shop, w http.ResponseWriter, r *http.Request) {
	var n int
	switch path := r.URL.Path; {
	case path == "/":
		fmt.Fprint(w, `<!doctype html><title>Gallery</title>`)
		for i := range mediaPages {
			fmt.Fprintf(w, ` <a href="/set/%d">Set</a>`, i+1)
		}
	case strings.HasPrefix(path, "/set/") && scan(path[len("/set/"):], &n) && n <= mediaPages:
		fmt.Fprintf(w, `<!doctype html><title>Set</title><link rel="license" href="http://shop.test/license/%d"><link rel="stylesheet" href="/style.css">`, n)
		for i := range 4 {
			fmt.Fprintf(w, ` <img src="/image/%d-%d.png">`, n, i+1)
		}
		fmt.Fprint(w, ` <img src="/image/double.png"> <img src="/image/double.png?again"> <img src="/basket/hidden.png"> <a href="/">Home</a>`)
	case strings.HasPrefix(path, "/image/"):
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "PNG ", copyOf, path, " ")
	case path == "/style.css":
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprint(w, "p {}")
	default:
		http.NotFound(w, r)
	}
}

// ownPage serves pages, a redirect to a page, one to a forbidden URL, and a busy page.
func ownPage(_ *shop, w http.ResponseWriter, r *http.Request) {
	var n int
	switch path := r.URL.Path; {
	case path == "/":
		fmt.Fprint(w, `<!doctype html><title>Home</title><a href="/busy">Busy</a> <a href="/offer">Offer</a> <a href="/basket/add">Buy</a> <a href="/page/1">One</a>`)
	case scan(strings.TrimPrefix(path, "/page/"), &n) && n <= ownPages:
		fmt.Fprintf(w, `<!doctype html><title>Page %d</title><a href="/">Home</a> <a href="/page/%d">Next</a>`, n, n%ownPages+1)
	case path == "/busy":
		fmt.Fprint(w, `<!doctype html><title>Busy</title>`)
	default:
		http.NotFound(w, r)
	}
}

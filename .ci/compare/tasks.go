package main

import (
	"fmt"
	"regexp"
)

// A task is a program with a known result, written for each of the tools.
type task struct {
	name   string
	ours   string            // where its source is, below the repository
	args   []string          // of ours; NEW is replaced by the number of the run (see twice), OLD by that of the run before
	scrapy []string          // further arguments of Scrapy
	twice  bool              // the program is run again after the site has changed
	alone  bool              // the program makes no requests
	fresh  bool              // Scrapy's runs share no JOBDIR, because each is a crawl of its own
	want   func() []string   // the records of the result
	drive  func(*shop) error // see shop

	// The records are found by an expression in the lines of the outputs, or by a function in
	// the directory of the program. If both are nil, they are the uploads to the S3 store.
	record *regexp.Regexp
	found  func(dir string, records map[string]int) error
}

// feed makes Scrapy write its items to a file that items reads.
var feed = []string{"-o", "items.jsonl:jsonlines"}

var tasks = []task{
	{name: "api", ours: "examples/api", args: []string{"http://shop.test/items"}, scrapy: feed,
		want: numbered("item-%d", 4*apiPages), record: regexp.MustCompile(`item-\d+`)},
	{name: "feeds", ours: "examples/feeds", twice: true, scrapy: feed,
		args: []string{"http://shop.test/feed/1", "http://shop.test/feed/2", "http://shop.test/feed/3", "http://shop.test/feed/4"},
		want: wantFeeds, record: regexp.MustCompile(`http://shop\.test/item/([\d-]+)`)},
	{name: "changes", ours: ".ci/compare/permesso/changes", twice: true, fresh: true, scrapy: feed, args: []string{"NEW.crawl", "OLD.crawl", "http://shop.test/"},
		want: wantChanges, record: regexp.MustCompile(`\b(new|modified|gone)\b.*?http://shop\.test(/[^\s",]*)`)},
	{name: "corpus", ours: "examples/corpus", args: []string{"corpus", "docs=http://shop.test/docs/", "news=http://shop.test/news/"}, scrapy: feed,
		want: wantCorpus, record: regexp.MustCompile(`"url": ?"http://shop\.test([^"]*)".*"section": ?"([^"]*)"(?:.*"link": ?"([^"]*)")?`)},
	{name: "policy", ours: "examples/policy", args: []string{"news.crawl", "http://shop.test/"}, scrapy: feed,
		want: wantPolicy, record: regexp.MustCompile(`http://shop\.test/\d+/\d+/\d+/(new-\d+-\d+)`)},
	{name: "mirror", ours: "examples/mirror", args: []string{"mirror", "http://shop.test/"}, want: wantMirror, found: browse},
	{name: "media", ours: "examples/media", args: []string{"http://" + storeAddress + "/bucket", "media.crawl", "http://shop.test/"},
		want: wantMedia},
	{name: "ownfetcher", ours: "examples/ownfetcher", args: []string{"http://shop.test/"}, scrapy: feed,
		want: wantOwn, record: regexp.MustCompile(`http://shop\.test(/page/\d+|/busy|/)[\s",].*\b200\b`)},
	{name: "customers", ours: "examples/customers", args: []string{"customers"}, want: wantCustomers, found: ordered, drive: order},
	{name: "robotscheck", ours: "examples/robotscheck", alone: true, args: []string{"examplebot", "sites"},
		want: wantVerdicts, record: regexp.MustCompile(`\b(allow|disallow)\s+(http\S+)`)},
}

func taskNamed(name string) *task {
	for i := range tasks {
		if tasks[i].name == name {
			return &tasks[i]
		}
	}
	return nil
}

func numbered(format string, last int) func() []string {
	return func() (all []string) {
		for i := range last {
			all = append(all, fmt.Sprintf(format, i+1))
		}
		return all
	}
}

func wantFeeds() (all []string) {
	for n := range newFeeds {
		all = append(all, numbered(fmt.Sprintf("%d-%%d", n+1), feedItems)()...)
	}
	return append(all, fmt.Sprintf("1-%d", feedItems+1))
}

func wantChanges() []string {
	return append(numbered("new /page/%d", watched+1)(), "modified /page/2", "gone /page/4")
}

func wantCorpus() (all []string) {
	for _, section := range []string{"docs", "news"} {
		all = append(all, "/"+section+"/ "+section)
		for n := 1; n <= sections; n++ {
			if section == "news" || n < 3 || n > 5 {
				all = append(all, fmt.Sprintf("/%s/%d %[1]s link %[2]d", section, n))
			}
		}
	}
	return all
}

func wantPolicy() (all []string) {
	for n := range topics {
		all = append(all, numbered(fmt.Sprintf("new-%d-%%d", n+1), newest)()...)
	}
	return all
}

func wantMirror() []string {
	return []string{"/", "/guide/one", "/guide/two", "/list?page=1", "/list?page=2", "/about.html", "/style.css", "/app.js", "/a.png", "/bg.png"}
}

func wantMedia() (all []string) {
	for n := 1; n <= mediaPages; n++ {
		all = append(all, numbered(fmt.Sprintf("/image/%d-%%d.png /license/%[1]d", n), 4)()...)
	}
	return append(all, "/image/double.png")
}

func wantOwn() []string { return append(numbered("/page/%d", ownPages)(), "/", "/busy") }

func wantCustomers() []string {
	return append(numbered("smith /page/%d", ownPages)(), "smith /", "smith /busy")
}

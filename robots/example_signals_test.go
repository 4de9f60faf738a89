package robots_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/permesso-crawler/permesso/robots"
)

// Statements about use are in robots.txt, in the header and in the meta elements of a page.
// Refuses reports whether any of them refuses the purpose of a crawl.
func ExampleSignals() {
	file := robots.Parse([]byte("User-agent: *\nContent-Signal: search=yes, ai-train=no\n"), robots.RFC9309)
	answer := robots.Answer{
		Token: "examplebot", Type: "text/html",
		Header: http.Header{"X-Robots-Tag": {"noarchive"}},
		Meta:   robots.MetaDirectives("examplebot", "robots", "nosnippet"),
	}
	s := file.Group("examplebot").Signals("/page").Merge(answer.Signals())
	for _, statement := range s.Deciding() {
		fmt.Println(statement.Use, statement.Granted, "by", statement)
	}
	by, refused := s.Refuses(robots.PurposeAITrain)
	fmt.Println(refused, by.Use)
	fmt.Println(robots.Signals{}.IsZero())
	// Output:
	// search true by line 2: Content-Signal: search=yes
	// ai-train false by line 2: Content-Signal: ai-train=no
	// ai-input false by meta robots: nosnippet
	// archive false by X-Robots-Tag: noarchive
	// true ai-train
	// true
}

// A purpose that a user has entered is checked with Check.
func ExamplePurpose() {
	for _, p := range robots.Purposes() {
		fmt.Println(p, p.Uses())
	}
	fmt.Println(robots.Purpose("fun").Check())
	// Output:
	// archive [archive]
	// research [tdm]
	// search [search]
	// linkcheck []
	// ai-train [ai-train tdm]
	// ai-input [ai-input tdm]
	// "fun" is not one of ["archive" "research" "search" "linkcheck" "ai-train" "ai-input"]
}

// The file tdmrep.json of a site can reserve text and data mining.
func ExampleParseTDMRep() {
	f := robots.ParseTDMRep([]byte(`[{"location": "/articles/*", "tdm-reservation": 1, "tdm-policy": "https://example.org/terms"}]`))
	if f.Err() != nil {
		log.Fatal(f.Err())
	}
	s := f.Signals("/articles/7")
	fmt.Println(s.Deciding(), s.Policies)
	fmt.Println(f.Signals("/about").IsZero())
	// Output:
	// [tdmrep.json: tdm-reservation 1 for /articles/*] [https://example.org/terms]
	// true
}

// Meta elements of a page can make the same statements as tdmrep.json.
func ExampleMetaTDM() {
	d := robots.MetaTDM("tdm-reservation", "1").Merge(robots.MetaTDM("tdm-policy", "https://example.org/terms"))
	fmt.Println(d.Mining, d.Policy)
	// Output: refused https://example.org/terms
}

// A License line of robots.txt gives the URL of a document with terms. A document that was not
// read refuses every use.
func ExampleParseRSL() {
	const document = `<rsl xmlns="https://rslstandard.org/rsl"><content url="https://example.org/">
		<license><permits type="usage">search</permits></license></content></rsl>`
	terms := robots.ParseRSL([]byte(document))
	if terms.Err() != nil {
		log.Fatal(terms.Err())
	}
	all := robots.Licenses{{URL: "https://example.org/license.xml", Terms: terms}}
	for _, s := range all.Signals("https://example.org/page").Deciding() {
		fmt.Println(s.Use, s.Granted)
	}
	// Output:
	// search true
	// ai-train false
	// ai-input false
}

// Terms in a script element of a page apply to this page.
func ExampleParseEmbeddedRSL() {
	terms := robots.ParseEmbeddedRSL([]byte(`<rsl xmlns="https://rslstandard.org/rsl"><content>
		<license><prohibits type="usage">ai-train</prohibits></license></content></rsl>`))
	s := robots.Licenses{{Terms: terms}}.Signals("https://example.org/page")
	_, refused := s.Refuses(robots.PurposeAITrain)
	fmt.Println(refused, terms.Err())
	// Output: true <nil>
}

// A 401 answer with this challenge says that the server requires the token of a bought license.
func ExampleLicenseChallenge() {
	answer := http.Header{"Www-Authenticate": {`License error="invalid_request"`}}
	fmt.Println(robots.LicenseChallenge(answer.Values("WWW-Authenticate")))
	// Output: invalid_request true
}

func ExampleRelNoFollow() {
	fmt.Println(robots.RelNoFollow("external nofollow"), robots.RelNoFollow("me"))
	// Output: true false
}

package extract_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// An answer of any kind is read in three steps: first its encoding is found, then its links, and
// then the links of its header.
func ExampleRead() {
	u, err := frontier.ParseURL("https://example.org/docs/")
	if err != nil {
		log.Fatal(err)
	}
	body, charset := extract.Decode([]byte("<base href=/b/><title>Caf\xe9</title><a href=x hreflang=de>the\n page</a>"), "text/html; charset=latin1")
	opts := extract.Options{Charset: charset, Text: true}
	if !extract.Reads("text/html", opts) {
		return
	}
	d, ok := extract.Read(body, u, "text/html", opts)
	if !ok {
		return
	}
	d.AddHeader(http.Header{"Link": {`</next>; rel=next`}}, u, opts)
	fmt.Println(charset, d.Title)
	for _, l := range d.Links {
		fmt.Printf("%s %q %q\n", l.URL, l.Text(), l.Lang())
	}
	other, err := d.Resolve("y") // resolved like a link of the document
	fmt.Println(other, err)
	// Output:
	// windows-1252 Café
	// https://example.org/next "" ""
	// https://example.org/b/x "the page" "de"
	// https://example.org/b/y <nil>
}

// DecodeAs is used if the Content-Type is already parsed, for instance by package fetch.
func ExampleDecodeAs() {
	text, charset := extract.DecodeAs([]byte("caf\xe9"), "text/plain", "iso-8859-1")
	fmt.Println(string(text), charset)
	// Output: café windows-1252
}

// Two pages that differ only in their markup have the same text digest.
func ExampleTextDigest() {
	a := extract.TextDigest([]byte("<p>Hello, <b>world</b>"), "text/html")
	b := extract.TextDigest([]byte("<script>1</script><div>Hello, world</div>"), "text/html")
	fmt.Println(a == b, extract.IsHTML("text/html"))
	// Output: true true
}

func ExampleHeaderLicenses() {
	u, err := frontier.ParseURL("https://example.org/page")
	if err != nil {
		log.Fatal(err)
	}
	licenses, documents := extract.HeaderLicenses([]string{
		`</terms.html>; rel=license, </license.xml>; rel=license; type="application/rsl+xml"`}, u)
	fmt.Println(licenses)
	fmt.Println(documents)
	// Output:
	// [https://example.org/terms.html https://example.org/license.xml]
	// [https://example.org/license.xml]
}

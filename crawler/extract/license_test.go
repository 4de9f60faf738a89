package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/robots"
)

// License documents in script elements of a page are read, and the URLs in its link elements are
// found.
func TestLicensesOfPages(t *testing.T) {
	const doc = `<rsl xmlns="https://rslstandard.org/rsl"><content url=""><license><prohibits>ai-train</prohibits></license></content></rsl>`
	u := parse(t, "http://a.example/d/p")
	for html, want := range map[string]string{
		`<script type="application/rsl+xml">` + doc + `</script>`:                                           "[RSL in the page: prohibits ai-train for *] []",
		`<body><script type=" Application/RSL+XML ; charset=utf-8"><!--` + doc + `--></script>`:             "[RSL in the page: prohibits ai-train for *] []",
		`<script type="application/rsl+xml">//<![CDATA[` + doc + `]]></script>`:                             "[] []",
		`<script type="application/rsl+xml"><![CDATA[` + doc + `]]></script>`:                               "[RSL in the page: prohibits ai-train for *] []",
		`<script>` + doc + `</script>`:                                                                      "[] []",
		`<script type="application/rsl+xml">` + strings.Replace(doc, `url=""`, `url="/x"`, 1) + `</script>`: "[] []",
		`<link rel=license type=application/rsl+xml href=l.xml><base href=/b/>`:                             "[] [http://a.example/b/l.xml]",
		`<link rel="me License" type="application/rsl+xml" href="https://b.example/l">`:                     "[] [https://b.example/l]",
		`<link rel=license href=l.xml><link rel=alternate type=application/rsl+xml href=m.xml>`:             "[] []",
		`<link rel=license type=application/rsl+xml><link rel=license type=application/rsl+xml href="">`:    "[] []",
		strings.Repeat(`<link rel=license type=application/rsl+xml href=/l>`, 20)[:59*2]:                    "[] [http://a.example/l http://a.example/l]",
		`<link rel=license type=application/rsl+xml href="/` + strings.Repeat("x", maxLicenseURL) + `">`:    "[] []",
	} {
		d := HTML([]byte(html), u, "text/html", Options{})
		var all robots.Signals
		for _, terms := range d.Terms {
			all = all.Merge(robots.Licenses{{Terms: terms}}.Signals(u.String()))
		}
		if got := fmt.Sprint(all.Statements, d.Licenses); got != want {
			t.Errorf("%.100s: %s, want %s", html, got, want)
		}
	}
	many := strings.Repeat(`<script type="application/rsl+xml">`+doc+`</script><link rel=license type=application/rsl+xml href=/l>`, 50)
	if d := HTML([]byte(many), u, "text/html", Options{}); len(d.Terms) != maxLicenses || len(d.Licenses) != maxLicenses {
		t.Errorf("%d and %d licenses", len(d.Terms), len(d.Licenses))
	}
}

package extract

import (
	"html"
	"slices"
	"strings"
	"testing"
)

func targetsOf(t *testing.T, page, mediaType string, opts Options) (links []string) {
	t.Helper()
	d, ok := Read([]byte(page), parse(t, "http://a.example/dir/"), mediaType, opts)
	if !ok {
		t.Fatalf("%s is not read", mediaType)
	}
	for _, l := range d.Links {
		links = append(links, string(l.Hop)+" "+l.Where+" "+l.URL.Target())
	}
	return links
}

func TestADocumentInSrcdocIsAPartOfTheOneAroundIt(t *testing.T) {
	page := `<base href=/b/><iframe src=1 srcdoc="` + html.EscapeString(`<title>no</title><meta name=robots content=nofollow><img src="2?a&amp;b"><a href=3 rel=nofollow>three</a>`) + `"></iframe><a href=4>four</a>
		<iframe srcdoc="<base href=/c/><img src=5>"></iframe><svg><iframe srcdoc="<img src=6>"></svg>`
	d := HTML([]byte(page), parse(t, "http://a.example/dir/"), "text/html", Options{Embeds: true, Text: true})
	var got []string
	for _, l := range d.Links {
		got = append(got, string(l.Hop)+" "+l.Where+" "+l.URL.Target()+" "+l.Rel+" "+l.Text())
	}
	want := []string{"L iframe/src /b/1  ", "E img/src /b/2?a&b  ", "L a/href /b/3 nofollow three", "L a/href /b/4  four"}
	if !slices.Equal(got, want) || d.Title != "" || d.Directives.NoFollow {
		t.Errorf("%q, title %q, %+v", got, d.Title, d.Directives)
	}
}

func TestSrcdocIsReadToABound(t *testing.T) {
	page := "<img src=4>"
	for i := range 4 {
		page = "<img src=" + string(rune('3'-i)) + `><iframe srcdoc="` + html.EscapeString(page) + `"></iframe>`
	}
	want := []string{"E img/src /dir/0", "E img/src /dir/1", "E img/src /dir/2", "E img/src /dir/3"}
	if got := targetsOf(t, page, "text/html", Options{Embeds: true}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	d := HTML([]byte(`<iframe srcdoc="`+strings.Repeat("<a href=x>", MaxLinks+1)+`">`), parse(t, "http://a.example/"), "text/html", Options{})
	if len(d.Links) != MaxLinks || !d.Cut {
		t.Errorf("%d links, cut %t", len(d.Links), d.Cut)
	}
}

func TestAttributesOfSVGThatNameDocuments(t *testing.T) {
	const page = `<svg><rect mask="url(m.svg#a)" fill="url('#p')" transform="scale(2)" CLIP-PATH="url(&quot;c.svg#b&quot;)"/>
		<g filter="url(f.svg#f) blur(2px)" style="cursor: url(s.png)"/></svg><p mask="url(no.svg)">`
	want := []string{"E */clip-path /dir/c.svg", "E */mask /dir/m.svg", "E */style /dir/s.png", "E */filter /dir/f.svg"}
	if got := targetsOf(t, page, "text/html", Options{Embeds: true}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := targetsOf(t, page, "text/html", Options{}); got != nil {
		t.Errorf("without embeds: %q", got)
	}
}

func TestStyleSheetsThatXMLNamesBeforeItsFirstElement(t *testing.T) {
	for page, want := range map[string][]string{
		`<?xml version="1.0"?><!DOCTYPE svg><?xml-stylesheet type="text/css" href="a.css?x&amp;y"?> <!-- <?xml-stylesheet href="no"?> --><?xml-stylesheet href='b.css'?><svg><?xml-stylesheet href="no"?></svg>`: {
			"E xml-stylesheet/href /dir/a.css?x&y", "E xml-stylesheet/href /dir/b.css"},
		`<?xml-stylesheet href="#in"?><?xml-stylesheet?><?xml-stylesheets href="no"?><?xml-stylesheet nohref="no"?><svg/>`: nil,
		`<?xml-stylesheet href="a.css"?><html xmlns="http://www.w3.org/1999/xhtml"><a href="1"/></html>`:                   {"E xml-stylesheet/href /dir/a.css", "L a/href /dir/1"},
	} {
		if got := targetsOf(t, page, "application/xhtml+xml", Options{Embeds: true}); !slices.Equal(got, want) {
			t.Errorf("%s: %q", page, got)
		}
	}
	if got := targetsOf(t, `<?xml-stylesheet href="a.css"?><svg/>`, "image/svg+xml", Options{}); got != nil {
		t.Errorf("without embeds: %q", got)
	}
	if got := targetsOf(t, `<?xml-stylesheet href="a.css"?><p>`, "text/html", Options{Embeds: true}); got != nil {
		t.Errorf("in HTML: %q", got)
	}
}

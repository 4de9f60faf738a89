package extract

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/permesso-crawler/permesso/frontier"
)

// sitemapOf returns the entries of a sitemap as texts, and its error.
func sitemapOf(r io.Reader, u frontier.URL) (entries []string, last error) {
	for e, err := range Sitemap(r, u) {
		if err != nil {
			last = err
			continue
		}
		line := e.URL.String()
		if e.Index {
			line += " index"
		}
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.UTC().Format("20060102T150405.999")
		}
		if e.ChangeFreq != "" {
			line += " " + e.ChangeFreq
		}
		if e.Priority != 0.5 {
			line += fmt.Sprint(" ", e.Priority)
		}
		for _, l := range slices.Concat(e.Alternates, e.Embeds) {
			line += fmt.Sprint(" ", string(l.Hop), " ", l.Where, " ", l.URL)
		}
		entries = append(entries, line)
	}
	return entries, last
}

func TestSitemap(t *testing.T) {
	u := parse(t, "http://a.example/dir/sitemap.xml")
	const head = `<?xml version="1.0" encoding="UTF-8"?>`
	const set = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"all that an entry may say", head + set + `
			<url>
				<loc>http://a.example/</loc>
				<lastmod>2005-01-01</lastmod>
				<changefreq>monthly</changefreq>
				<priority>0.8</priority>
			</url></urlset>`, []string{"http://a.example/ 20050101T000000 monthly 0.8"}},
		{"references", set + `<url><loc>http://a.example/?item=12&amp;desc=v&#x26;w&apos;</loc></url></urlset>`, []string{"http://a.example/?item=12&desc=v&w%27"}},
		{"an index", head + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
			<sitemap><loc>http://a.example/1.xml.gz</loc><lastmod>2004-10-01T18:23:17+00:00</lastmod></sitemap>
			<sitemap><loc>http://a.example/2.xml.gz</loc></sitemap></sitemapindex>`,
			[]string{"http://a.example/1.xml.gz index 20041001T182317", "http://a.example/2.xml.gz index"}},
		{"an empty one", set + "</urlset>", nil},
		{"other languages", set + `<url><loc>http://a.example/</loc>
			<xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/><xhtml:link rel='alternate' media='handheld' href='/m'></xhtml:link>
			<xhtml:link rel="stylesheet" href="/s.css"/></url></urlset>`,
			[]string{"http://a.example/ L xhtml:link/href http://a.example/de L xhtml:link/href http://a.example/m"}},
		{"images and videos", set + `<url><image:image><image:loc>http://a.example/i.png</image:loc></image:image><loc>http://a.example/</loc>
			<image:image><image:caption>x</image:caption><image:loc>http://b.example/j.png</image:loc></image:image>
			<video:video><video:thumbnail_loc>http://a.example/t</video:thumbnail_loc><video:content_loc>http://a.example/v</video:content_loc>
			<video:player_loc>http://a.example/p</video:player_loc><video:title>loc</video:title></video:video>
			<news:news><news:publication><news:name>x</news:name></news:publication></news:news></url></urlset>`,
			[]string{"http://a.example/ E image:loc http://a.example/i.png E image:loc http://b.example/j.png E video:thumbnail_loc http://a.example/t E video:content_loc http://a.example/v E video:player_loc http://a.example/p"}},

		{"no declaration, other case, other namespace", `<URLSET xmlns='x'><Url><LOC>http://a.example/1</LOC><ChangeFreq>DAILY</ChangeFreq></Url></URLSET>`, []string{"http://a.example/1 daily"}},
		{"with a prefix", `<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>`, []string{"http://a.example/1"}},
		{"blanks", " \r\n" + head + set + "<url ><loc >\n http://a.example/1 \n</loc\n></url></urlset>", []string{"http://a.example/1"}},
		{"bare ampersands and HTML's references", set + `<url><loc>http://a.example/?a=1&b=2&copy=3&eacute;</loc></url></urlset>`, []string{"http://a.example/?a=1&b=2&copy=3%C3%A9"}},
		{"CDATA and comments", set + `<!-- a -- <url><loc>http://a.example/0</loc></url> --><url><loc><![CDATA[http://a.example/?a&amp;b]]></loc></url></urlset>`, []string{"http://a.example/?a&amp;b"}},
		{"a comment inside", set + `<url><loc>http://a.example/<!-- x -->1</loc></url></urlset>`, []string{"http://a.example/1"}},
		{"wrong dates and priorities", set + `<url><loc>http://a.example/1</loc><lastmod>yesterday</lastmod><priority>high</priority><changefreq>often</changefreq></url>
			<url><loc>http://a.example/2</loc><priority>7</priority></url><url><loc>http://a.example/3</loc><priority>0,1</priority></url>
			<url><loc>http://a.example/4</loc><priority>NaN</priority></url></urlset>`,
			[]string{"http://a.example/1", "http://a.example/2", "http://a.example/3 0.1", "http://a.example/4"}},
		{"locations that are none", set + `<url><loc></loc></url><url/><url><loc>mailto:x@y</loc></url><url><loc>a.example/x</loc></url><url><lastmod>2005</lastmod></url>
			<url><loc>/rooted</loc></url><url><loc>//b.example/</loc></url></urlset>`, []string{"http://a.example/rooted", "http://b.example/"}},
		{"two locations", set + `<url><loc>http://a.example/1</loc><loc>http://a.example/2</loc></url></urlset>`, []string{"http://a.example/1"}},
		{"ends that are missing", set + `<url><loc>http://a.example/1<lastmod>2005</lastmod><url><loc>http://a.example/2</loc></urlset>`, []string{"http://a.example/1 20050101T000000", "http://a.example/2"}},
		{"locations without an entry", set + `<loc>http://a.example/1</loc></urlset>`, []string{"http://a.example/1"}},
		{"both kinds", `<sitemapindex><url><loc>http://a.example/1</loc></url></sitemapindex>`, []string{"http://a.example/1 index"}},
		{"entities that it declares", `<!DOCTYPE urlset [<!ENTITY a "http://a.example/"> <!ENTITY b SYSTEM "file:///etc/passwd">]>` + set + `<url><loc>http://a.example/&a;&b;</loc></url></urlset>`, []string{"http://a.example/&a;&b;"}},
		{"version 1.1", `<?xml version="1.1"?>` + set + `<url><loc>http://a.example/1</loc></url></urlset>`, []string{"http://a.example/1"}},
		{"an encoding", "<?xml version='1.0' encoding='ISO-8859-1'?>" + set + "<url><loc>http://a.example/\xe9</loc></url></urlset>", []string{"http://a.example/%C3%A9"}},
		{"UTF-8 with a mark", "\ufeff" + head + set + "<url><loc>http://a.example/é</loc></url></urlset>", []string{"http://a.example/%C3%A9"}},
		{"UTF-16", wide("\ufeff" + head + set + "<url><loc>http://a.example/é</loc></url></urlset>"), []string{"http://a.example/%C3%A9"}},
		{"UTF-16 without a mark", wide(set + "<url><loc>http://a.example/é</loc></url></urlset>"), []string{"http://a.example/%C3%A9"}},

		{"text", "http://a.example/1\r\nhttp://a.example/2\n\n # x\nftp://a.example/3 ", []string{"http://a.example/1", "http://a.example/2", "ftp://a.example/3"}},
		{"text with a mark", "\ufeffhttp://a.example/é\rhttps://b.example", []string{"http://a.example/%C3%A9", "https://b.example/"}},

		{"RSS", `<rss version="2.0"><channel><link>http://a.example/</link><item><title>x</title><link>http://a.example/1</link><pubDate>Fri, 30 May 2003 11:06:42 GMT</pubDate></item>
			<item><guid>http://a.example/2</guid><description><link>http://a.example/0</link></description></item><item><guid isPermaLink="false">http://a.example/0</guid></item></channel></rss>`,
			[]string{"http://a.example/1 20030530T110642", "http://a.example/2"}},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/b/"><link href="/"/><entry><link rel="self" href="0"/><link href="1"/><updated>2003-12-13T18:30:02.25Z</updated></entry></feed>`,
			[]string{"http://a.example/b/1 20031213T183002.25"}},
		{"RSS 1.0", `<rdf:RDF><channel rdf:about="http://a.example/0"><link>http://a.example/0</link></channel><item rdf:about="http://a.example/0"><link>http://a.example/1</link><dc:date>2005-07</dc:date></item></rdf:RDF>`,
			[]string{"http://a.example/1 20050701T000000"}},
	} {
		got, err := sitemapOf(strings.NewReader(tc.body), u)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%q, %v, want\n%q", tc.name, got, err, tc.want)
		}
		for _, layers := range []int{1, 2} {
			body := []byte(tc.body)
			for range layers {
				body = zipped(t, body)
			}
			if again, err := sitemapOf(iotest.OneByteReader(bytes.NewReader(body)), u); err != nil || !slices.Equal(again, got) {
				t.Errorf("%s, compressed %d times:\n%q, %v, want\n%q", tc.name, layers, again, err, got)
			}
		}
	}
}

// wide returns s in UTF-16.
func wide(s string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(s)) {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}

func zipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatASitemapLacksIsItsLastError(t *testing.T) {
	u := parse(t, "http://a.example/sitemap.xml")
	entry := func(loc string) string { return "<url><loc>" + loc + "</loc></url>" }
	long := "http://a.example/" + strings.Repeat("x", maxSitemapURLLength)
	broken := errors.New("broken")
	packed := zipped(t, []byte("<urlset>"+entry("http://a.example/1")+strings.Repeat(" ", 1000)+"</urlset>"))
	for _, tc := range []struct {
		name string
		r    io.Reader
		n    int
		want error
	}{
		{"nothing", strings.NewReader(""), 0, errNotSitemap},
		{"blanks", strings.NewReader(strings.Repeat(" ", 1<<20)), 0, errNotSitemap},
		{"HTML", strings.NewReader("<!doctype html><html><a href=http://a.example/>"), 0, errNotSitemap},
		{"no root", strings.NewReader("<!-- x -->"), 0, errNotSitemap},
		{"text that is no list", strings.NewReader("Not found\n"), 0, errNotSitemap},
		{"cut", strings.NewReader("<urlset>" + entry("http://a.example/1") + "<url><loc>http://a.example/2</loc><url><loc>http://a.ex"), 2, io.ErrUnexpectedEOF},
		{"too many", strings.NewReader("<urlset>" + strings.Repeat(entry("http://a.example/1"), maxSitemapURLs+2)), maxSitemapURLs, errSitemapURLs},
		{"too many lines", strings.NewReader(strings.Repeat("http://a.example/1\n", maxSitemapURLs+1)), maxSitemapURLs, errSitemapURLs},
		{"just enough lines", strings.NewReader(strings.Repeat("http://a.example/1\n", maxSitemapURLs)), maxSitemapURLs, nil},
		{"too long", strings.NewReader("<urlset>" + entry(long) + entry("http://a.example/1") + entry(strings.Repeat(long, 100)) + "</urlset>"), 1, errSitemapURLLength},
		{"just short enough", strings.NewReader("<urlset>" + entry(long[:maxSitemapURLLength-1]) + "</urlset>"), 1, nil},
		{"lines that are too long", strings.NewReader(long + "\n" + strings.Repeat(long, 100) + "\nhttp://a.example/1"), 1, errSitemapURLLength},
		{"a long line alone", strings.NewReader(strings.Repeat(long, 100)), 0, errSitemapURLLength},
		{"broken off", io.MultiReader(strings.NewReader("<urlset>"+entry("http://a.example/1")), iotest.ErrReader(broken)), 1, broken},
		{"lines broken off", io.MultiReader(strings.NewReader("http://a.example/1\n"), iotest.ErrReader(broken)), 1, broken},
		{"broken at once", iotest.ErrReader(broken), 0, broken},
		{"gzip that is cut", bytes.NewReader(packed[:len(packed)-9]), 1, io.ErrUnexpectedEOF},
		{"invalid gzip", strings.NewReader("\x1f\x8b\x08"), 0, io.ErrUnexpectedEOF},
		{"gzip that lies", bytes.NewReader(append(packed[:len(packed)-8:len(packed)-8], make([]byte, 8)...)), 1, gzip.ErrChecksum},
	} {
		got, err := sitemapOf(tc.r, u)
		var typed *sitemapError
		if len(got) != tc.n || !errors.Is(err, tc.want) || tc.want != nil && (!errors.As(err, &typed) || typed.Entries != tc.n || typed.URL != u) {
			t.Errorf("%s: %d entries, %v; want %d, %v", tc.name, len(got), err, tc.n, tc.want)
		}
	}
}

func TestASitemapCostsAtMostItsBound(t *testing.T) {
	u := parse(t, "http://a.example/sitemap.xml")
	bomb := zipped(t, []byte("<urlset>"+strings.Repeat("\x00", maxSitemapBytes)))
	if got, err := sitemapOf(bytes.NewReader(bomb), u); len(got) > 0 || !errors.Is(err, errSitemapBytes) {
		t.Errorf("a bomb: %q, %v", got, err)
	}
	// A layer of any length may decompress to nothing in the next layer.
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Extra = make([]byte, 1<<16-1)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	members := bytes.Repeat(member.Bytes(), maxSitemapBytes/member.Len()+1)
	if got, err := sitemapOf(bytes.NewReader(zipped(t, members)), u); len(got) > 0 || !errors.Is(err, errSitemapBytes) {
		t.Errorf("%q, %v", got, err)
	}
	// This sitemap has exactly the maximum size.
	exact := "<urlset>" + strings.Repeat(" ", maxSitemapBytes-len("<urlset></urlset>")) + "</urlset>"
	if _, err := sitemapOf(strings.NewReader(exact), u); err != nil {
		t.Error(err)
	}
	if _, err := sitemapOf(strings.NewReader(exact+" "), u); !errors.Is(err, errSitemapBytes) {
		t.Error(err)
	}
}

func TestHostileSitemaps(t *testing.T) {
	u := parse(t, "http://a.example/sitemap.xml")
	const many = 1_000_000
	laughs := `<!DOCTYPE lolz [<!ENTITY lol "lol">`
	for i := range 9 {
		laughs += fmt.Sprintf(`<!ENTITY lol%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&lol%d;", i), 10))
	}
	for name, body := range map[string]string{
		"nested":       "<urlset>" + strings.Repeat("<a>", many),
		"nested bases": "<urlset>" + strings.Repeat("<a xml:base='x/'>", many/10),
		"a long name":  "<urlset><" + strings.Repeat("a", many) + ">",
		"a long tag":   "<urlset><a " + strings.Repeat("a='b' ", many/4) + ">",
		"laughs":       laughs + "]><urlset><url><loc>&lol9;</loc></url></urlset>",
		"brackets":     "<urlset>" + strings.Repeat("<", many),
		"a long loc":   "<urlset><url><loc>" + strings.Repeat("&amp;", many),
		"comments":     "<urlset>" + strings.Repeat("<!--", many),
		"CDATA":        "<urlset><loc>" + strings.Repeat("<![CDATA[", many/4),
	} {
		if got, _ := sitemapOf(strings.NewReader(body), u); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	body := "<urlset><url><loc>http://a.example/</loc>" + strings.Repeat("<image:image><image:loc>http://a.example/i</image:loc></image:image><xhtml:link rel=alternate href=/x />", 10*maxExtras) + "</url></urlset>"
	for e, err := range Sitemap(strings.NewReader(body), u) {
		if err != nil || len(e.Embeds) != maxExtras || len(e.Alternates) != maxExtras {
			t.Errorf("%d embeds, %d alternates, %v", len(e.Embeds), len(e.Alternates), err)
		}
	}
}

func TestAReaderOfASitemapMayStop(t *testing.T) {
	u := parse(t, "http://a.example/sitemap.xml")
	for _, body := range []string{"<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url>", "http://a.example/1\nhttp://a.example/2\n"} {
		n := 0
		for range Sitemap(strings.NewReader(body), u) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d", body, n)
		}
	}
}

func TestDatesOfSitemaps(t *testing.T) {
	for text, want := range map[string]string{
		"1997": "1997-01-01T00:00:00Z", "1997-07": "1997-07-01T00:00:00Z", "1997-07-16": "1997-07-16T00:00:00Z",
		"1997-07-16T19:20+01:00": "1997-07-16T18:20:00Z", "1997-07-16T19:20:30+01:00": "1997-07-16T18:20:30Z",
		"1997-07-16T19:20:30.45+01:00": "1997-07-16T18:20:30.45Z", "1994-11-05T13:15:30Z": "1994-11-05T13:15:30Z",
		"1994-11-05T08:15:30-05:00": "1994-11-05T13:15:30Z",
		// These forms are not in the W3C note.
		"1997-07-16 19:20:30": "1997-07-16T19:20:30Z", "1997-07-16t19:20:30z": "1997-07-16T19:20:30Z", "1997-07-16T19:20:30": "1997-07-16T19:20:30Z",
		"1997-07-16T19:20:30+0100": "1997-07-16T18:20:30Z", "1997-07-16 19:20:30 +01:00": "1997-07-16T18:20:30Z", "1997-07-16T19:20:30+01": "1997-07-16T18:20:30Z",
		"1997-07-16 19:20:30 UTC": "1997-07-16T19:20:30Z", "1997-7-6": "1997-07-06T00:00:00Z", "19970716": "1997-07-16T00:00:00Z", "1997-07-16T19:20": "1997-07-16T19:20:00Z",
		"": "", "1997-13": "", "16/07/1997": "", "1997-02-30": "", "19970": "", "T": "", "1997-07-16T25:00": "",
	} {
		got := ""
		if d := parseDate(text); !d.IsZero() {
			got = d.UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Sat, 07 Sep 2002 00:00:01 GMT": "2002-09-07T00:00:01Z", "7 Sep 02 00:00 +0200": "2002-09-06T22:00:00Z", "2002-09-07": "2002-09-07T00:00:00Z",
	} {
		if got := parseDate(text).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzSitemap(f *testing.F) {
	for _, s := range []string{
		"<urlset><url><loc>http://a/</loc><lastmod>2005-01-01</lastmod><priority>1</priority></url></urlset>", "http://a/\nhttp://b/",
		"<sitemapindex><sitemap><loc><![CDATA[http://a/]]></loc></sitemap></sitemapindex>", "\xff\xfe<\x00", "\x1f\x8b\x08", "<rss><item><link>x</link></item></rss>",
		"<?xml encoding='koi8-r'?><urlset><!-- -- --><url/>", "<!DOCTYPE a [<!ENTITY b ']>'>]><urlset><url><image:image><loc>http://a/i", "<feed><entry xml:base='/x/'><link href=y/></entry></feed>",
	} {
		f.Add([]byte(s))
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte) {
		ended := false
		for e, err := range Sitemap(bytes.NewReader(body), u) {
			if ended {
				t.Fatalf("%q: goes on after its error", body)
			}
			if ended = err != nil; ended {
				continue
			}
			if e.URL.IsZero() || !(e.Priority >= 0 && e.Priority <= 1) {
				t.Fatalf("%q: %+v", body, e)
			}
		}
		got, _ := sitemapOf(bytes.NewReader(body), u)
		if again, _ := sitemapOf(iotest.OneByteReader(bytes.NewReader(body)), u); !slices.Equal(got, again) {
			t.Fatalf("%q: %q, byte by byte %q", body, got, again)
		}
	})
}

func BenchmarkSitemap(b *testing.B) {
	var body bytes.Buffer
	body.WriteString("<urlset>\n")
	for i := range 1000 {
		fmt.Fprintf(&body, "\t<url>\n\t\t<loc>http://a.example/section/page-%d.html</loc>\n\t\t<lastmod>2005-01-01T10:00:00+01:00</lastmod>\n\t\t<changefreq>daily</changefreq>\n\t\t<priority>0.7</priority>\n\t</url>\n", i)
	}
	body.WriteString("</urlset>")
	u := parse(b, "http://a.example/sitemap.xml")
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range Sitemap(bytes.NewReader(body.Bytes()), u) {
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
}

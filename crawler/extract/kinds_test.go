package extract

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// Each element and attribute with a link is found, under its conditions.
func TestEachAttributeThatLeadsSomewhere(t *testing.T) {
	for page, want := range map[string]string{
		`<blockquote cite=1><q cite=2><ins cite=3><del cite=4>`:                                                                                        "L blockquote/cite /dir/1, L q/cite /dir/2, L ins/cite /dir/3, L del/cite /dir/4",
		`<p cite=1><a cite=2><cite cite=3>`:                                                                                                            "",
		`<img longdesc=1><frame longdesc=2><iframe longdesc=3></iframe>`:                                                                               "L img/longdesc /dir/1, L frame/longdesc /dir/2, L iframe/longdesc /dir/3",
		`<iframe src=1 data-src=2 data-lazy-src=3 data-srcset=4></iframe>`:                                                                             "L iframe/src /dir/1, L iframe/data-src /dir/2, L iframe/data-lazy-src /dir/3",
		`<q rel=nofollow cite=1>`:                                                                                                                      "L q/cite /dir/1",
		`<object type=text/html data=1><embed type=" Application/XHTML+xml;x" src=2>`:                                                                  "L object/data /dir/1, L embed/src /dir/2",
		`<object data=1><object type=text/htmlx data=2><embed src=3>`:                                                                                  "",
		`<meta property=og:url content=/1><meta property=" OG:URL " content="http://b.example/2">`:                                                     "L meta/og:url /1, L meta/og:url /2",
		`<meta property=og:url content=www.b.example><meta property=og:urls content=/2><meta name=og:url content=/3><meta property=og:url>`:            "",
		`<meta property=og:url content="ftp://b.example/1">`:                                                                                           "",
		`<meta property=og:image content=/1>`:                                                                                                          "",
		`<link rel=amphtml href=1><link rel=version-history href=2><link rel=about href=3>`:                                                            "L link/href /dir/1 rel=amphtml, L link/href /dir/2 rel=version-history, L link/href /dir/3 rel=about",
		`<link rel=shortlink href=1><link rel=prefetch href=2><link rel="next prefetch" href=3><link rel="next preload" href=4><link rel=edit href=5>`: "",
		`<link rel="x` + "\u00a0" + `next" href=1><link rel="x` + "\f" + `next" href=2>`:                                                               "L link/href /dir/2 rel=x\fnext",
		`<svg><image href=1 /><use href=2 /><q cite=3>`:                                                                                                "",
		`<img src=1 data-src=2><video src=3 poster=4><audio src=5><track src=6><input type=image src=7><td background=8><i data-bg=9>`:                 "",
	} {
		if got := linksOf(t, page, Options{}); got != want {
			t.Errorf("%s:\n%q, want\n%q", page, got, want)
		}
	}
}

func TestEachAttributeThatAPageIsShownWith(t *testing.T) {
	for page, want := range map[string]string{
		`<object data=1><embed src=2><object type=image/svg+xml data=3>`:                                                                                                                                 "E object/data /dir/1, E embed/src /dir/2, E object/data /dir/3",
		`<video src=1 poster=2 data-src=3 data-poster=4><audio src=5 data-src=6><track src=7>`:                                                                                                           "E video/src /dir/1, E video/poster /dir/2, E video/data-src /dir/3, E video/data-poster /dir/4, E audio/src /dir/5, E audio/data-src /dir/6, E track/src /dir/7",
		`<input type=IMAGE src=1><input src=2><input type=images src=3>`:                                                                                                                                 "E input/src /dir/1",
		`<body background=1><table background=2><thead background=3><tr background=4><th background=5><tbody background=6><td background=7><tfoot background=8>`:                                         "E body/background /dir/1, E table/background /dir/2, E thead/background /dir/3, E tr/background /dir/4, E th/background /dir/5, E tbody/background /dir/6, E td/background /dir/7, E tfoot/background /dir/8",
		`<p background=1><img poster=2><audio poster=3><script data-src=4></script>`:                                                                                                                     "",
		`<img src=1 srcset=2 data-src=3 data-srcset="4, 5" data-original=6 data-lazy-src=7 data-lazy-srcset="8 2x,9">`:                                                                                   "E img/src /dir/1, E img/srcset /dir/2, E img/data-src /dir/3, E img/data-srcset /dir/4, E img/data-srcset /dir/5, E img/data-original /dir/6, E img/data-lazy-src /dir/7, E img/data-lazy-srcset /dir/8, E img/data-lazy-srcset /dir/9",
		`<source src=1 srcset=2 data-src=3 data-srcset=4 data-lazy-srcset=5 data-lazy-src=6>`:                                                                                                            "E source/src /dir/1, E source/srcset /dir/2, E source/data-src /dir/3, E source/data-srcset /dir/4, E source/data-lazy-srcset /dir/5",
		`<div data-bg=1><x-y data-background-image=2><image data-bg=3><p DATA-BG=4>`:                                                                                                                     "E div/data-bg /dir/1, E */data-background-image /dir/2, E img/data-bg /dir/3, E p/data-bg /dir/4",
		`<svg><image href=1 xlink:href=2 /><image xlink:href=3 /><feImage href=4 /><use href=5.svg#a /><use href="#a"/><use xlink:href=" #a"/><image href="#a"/><script href=6 /><g href=7 data-bg=8 />`: "E image/href /dir/1, E image/xlink:href /dir/3, E feImage/href /dir/4, E use/href /dir/5.svg, E script/href /dir/6",
		`<math><image href=1 /><use href=2 />`:                                                                                                                                                           "",
		`<image href=1><use href=2><feImage href=3>`:                                                                                                                                                     "",
		`<link rel=manifest href=1><link rel=modulepreload href=2><link rel=apple-touch-icon-precomposed href=3><link rel=Mask-Icon href=4><link rel=preload as=image imagesrcset="5, 6 2x">`:            "E link/href /dir/1, E link/href /dir/2, E link/href /dir/3, E link/href /dir/4, E link/imagesrcset /dir/5, E link/imagesrcset /dir/6",
		`<link rel=next imagesrcset=1><link imagesrcset=2><link rel=preload srcset=3>`:                                                                                                                   "",
		`<meta property=og:image content=/1><meta property=og:image:url content=/2><meta property=og:image:secure_url content=https://b.example/3><meta property=og:image:alt content=/4><meta property=og:image content=5.png>`: "E meta/og:image /1, E meta/og:image /2, E meta/og:image /3",
		`<img src="" data-src=1><script src></script><video poster>`:                                  "E img/data-src /dir/1",
		`<img src="data:image/png;base64,x" srcset="DATA:,x 2x, 1"><img src="Data:"><img src="data">`: "E img/srcset /dir/1, E img/src /dir/data",
	} {
		if got := linksOf(t, page, Options{Embeds: true}); got != want {
			t.Errorf("%s:\n%q, want\n%q", page, got, want)
		}
	}
}

// The value of data-bg or data-background-image is a URL, or a value of background-image. Some
// scripts expect the one, some the other.
func TestALateBackgroundIsAURLOrWrittenAsInAStyleSheet(t *testing.T) {
	for page, want := range map[string]string{
		`<p data-bg="url(1)"><p data-background-image=" URL( '2' ) ">`:      "E p/data-bg /dir/1, E p/data-background-image /dir/2",
		`<p data-bg="url(&quot;1 a&quot;), url(\32), url(#x)">`:             "E p/data-bg /dir/1%20a, E p/data-bg /dir/2",
		`<p data-bg="url(data:image/png,x)"><p data-bg="url()">`:            "",
		`<p data-bg="url(1); @import 'x'"><p data-background-image="url(`:   "E p/data-bg /dir/1",
		`<p data-bg="x url(1)"><p data-bg="url"><p data-bg="curl(1)">`:      "E p/data-bg /dir/x%20url(1), E p/data-bg /dir/url, E p/data-bg /dir/curl(1)",
		`<img src="url(1)" data-src="url(2)"><p data-bg="" data-bg=url(3)>`: "E img/src /dir/url(1), E img/data-src /dir/url(2)",
	} {
		if got := linksOf(t, page, Options{Embeds: true}); got != want {
			t.Errorf("%s:\n%q, want\n%q", page, got, want)
		}
		if got := linksOf(t, page, Options{}); got != "" {
			t.Errorf("%s: though they are not wanted: %q", page, got)
		}
	}
}

// The content of noscript is read, in the head and in the body.
func TestWhatIsForReadersWithoutScripts(t *testing.T) {
	const page = `<head><noscript><link rel=stylesheet href=1><meta http-equiv=refresh content="0;url=2"></noscript></head>
		<body><noscript><img src=3><a href=4></a><iframe src=5></iframe></noscript><script><noscript><img src=6></noscript></script>
		<img data-src=7><noscript data-bg=8><p>text</noscript><a href=9></a>`
	const want = "E link/href /dir/1, L meta/refresh /dir/2, E img/src /dir/3, L a/href /dir/4, L iframe/src /dir/5, E img/data-src /dir/7, E noscript/data-bg /dir/8, L a/href /dir/9"
	if got := linksOf(t, page, Options{Embeds: true}); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	compareWithTree(t, []byte(page))
}

func TestActionsOfForms(t *testing.T) {
	const page = `<form action=1></form><form action="2?x=y#z" method=GET></form><form action=3 method=post></form><form action=4 method=Dialog></form>
		<form action=5 method=put></form><form action="?x"></form><form action=" "></form><form action></form><form></form><p action=6>`
	if got := linksOf(t, page, Options{Embeds: true}); got != "" {
		t.Errorf("though they are not wanted: %q", got)
	}
	if got, want := linksOf(t, page, Options{Forms: true}), "L form/action /dir/1, L form/action /dir/2, L form/action /dir/5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// dataBlock returns a script element with JSON-LD.
func dataBlock(data string) string { return "<script type=application/ld+json>" + data + "</script>" }

func TestDataBlocks(t *testing.T) {
	deep := func(n int) string { return dataBlock(strings.Repeat("[", n-1) + `{"url":"/1"}`) }
	long := func(n int) string { return dataBlock(strings.Repeat(" ", n-len(`{"url":"/1"`)) + `{"url":"/1"}`) }
	for page, want := range map[string]string{
		dataBlock(`{"url":"/1"}`): "L script/ld+json /1",
		dataBlock(`{"@context":"https://schema.org","@graph":[{"url":"http://b.example/1"},{"a":{"url" : "\/2"}}]}`): "L script/ld+json /1, L script/ld+json /2",
		dataBlock(`{"@id":"/1","sameAs":"/2","URL":"/3","urls":"/4","image":"/5"}`):                                  "",
		dataBlock(`{"url":["/1",["/2"],{"url":"/3"},4,"/5"]}`):                                                       "L script/ld+json /1, L script/ld+json /2, L script/ld+json /3, L script/ld+json /5",
		dataBlock(`{"url":{"@id":"/1"},"x":"/2"}`):                                                                   "",
		dataBlock(`{"\u0075rl":"\u002f1","url":"/\ud83d\ude00"}`):                                                    "L script/ld+json /1, L script/ld+json /%F0%9F%98%80",
		dataBlock(`{"@context":{"url":"/1","a":[{"url":"/2"}]},"url":"/3"}`):                                         "L script/ld+json /3",
		dataBlock(`{"url":"www.b.example","b":{"url":""},"c":{"url":"ftp://b.example/"},"d":{"url":"mailto:x"}}`):    "",
		dataBlock(`["/1",{"url":"/2"},"url"]`):                                                                       "L script/ld+json /2",
		dataBlock(`"url"`):                                                                                           "",
		dataBlock(`["url","/1"]`):                                                                                    "",
		dataBlock(`{"a":"url","b":"/1"}`):                                                                            "",
		dataBlock(`{"url":null,"a":"/1"}`):                                                                           "",
		dataBlock(`{"url":"/a\"b\\","url":"/1"}`):                                                                    "L script/ld+json /a%22b/, L script/ld+json /1",
		// A JSON parser refuses these blocks.
		dataBlock(`{"a":1,,"url":"/1",} // x`):      "L script/ld+json /1",
		dataBlock(`<!-- {"url":"/1"`):               "L script/ld+json /1",
		dataBlock(`}]{"url":"/1"}`):                 "L script/ld+json /1",
		dataBlock(`["url":"/1"]`):                   "",
		dataBlock(`"url":"/1"`):                     "",
		dataBlock(`{"url":{"/1"}}`):                 "",
		dataBlock(`{"url":"/1","/2"}`):              "L script/ld+json /1",
		dataBlock(`{"url":["/1"] "/2"}`):            "L script/ld+json /1",
		dataBlock(`{"url":"/1`):                     "",
		dataBlock(`{"url":"/\x","b":{"url":"/1"}}`): "L script/ld+json /1",
		dataBlock(``):                               "",
		`<script type="Application/LD+JSON; charset=utf-8">{"url":"/1"}</script>`:                                                                 "L script/ld+json /1",
		`<script type=application/json>{"url":"/1"}</script><script>{"url":"/2"}</script><script type=application/ld+jsonx>{"url":"/3"}</script>`: "",
		`<svg><script type=application/ld+json>{"url":"/1"}</script>`:                                                                             "",
		dataBlock(`{"url":"/1"}`) + `<a href=2>`:                                                                                                  "L script/ld+json /1, L a/href /dir/2",
		`<base href=//c.example/>` + dataBlock(`{"url":"/1"}`):                                                                                    "L script/ld+json /1",
		deep(maxDataDepth):     "L script/ld+json /1",
		deep(maxDataDepth + 1): "",
		long(maxDataBytes):     "L script/ld+json /1",
		long(maxDataBytes + 1): "",
	} {
		if got := linksOf(t, page, Options{}); got != want {
			t.Errorf("%.200s: %q, want %q", page, got, want)
		}
	}
}

// In valid data blocks, the same URLs are found as with package encoding/json.
func TestDataBlocksAreReadAsByEncodingJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	keys := []string{"url", "@type", "@context", "a", "@id", "u\\u0072l", "image"}
	values := []string{`"/%d"`, `"https://b.example/%d"`, `"x/%d"`, `"\/%d\u00e9\\\""`, `"ImageObject"`, `"http://schema.org/ImageObject"`, `""`, "1", "null", "true"}
	var value func(depth int) string
	value = func(depth int) string {
		n := random.IntN(10)
		if depth == 0 || n < 5 {
			return strings.ReplaceAll(values[random.IntN(len(values))], "%d", strconv.Itoa(random.IntN(100)))
		}
		var members []string
		for range random.IntN(5) {
			member := value(depth - 1)
			if n < 8 {
				member = fmt.Sprintf(` "%s" : %s`, keys[random.IntN(len(keys))], member)
			}
			members = append(members, member)
		}
		if n < 8 {
			return "{" + strings.Join(members, ",") + "}"
		}
		return "[" + strings.Join(members, "\n,") + " ]"
	}
	links := 0
	for range 5000 {
		page := []byte(dataBlock(value(5)))
		compareWithOracle(t, page, parse(t, testPage))
		links += len(HTML(page, parse(t, testPage), "text/html", Options{Embeds: true}).Links)
	}
	if links < 1000 {
		t.Errorf("only %d links", links)
	}
}

// The url of an ImageObject is an embedded resource.
func TestImagesOfDataBlocks(t *testing.T) {
	page := dataBlock(`{"url":"/1","logo":{"@type":"ImageObject","url":"/2","author":{"url":"/3"}},
		"image":{"url":["/4"],"@type":["Thing","http://schema.org/ImageObject"]},"video":{"@type":"VideoObject","url":"/5"},"url":"/6"}`) +
		dataBlock(`{"@type":"ImageObject","url":"/7"`)
	const links = "L script/ld+json /1, L script/ld+json /3, L script/ld+json /5, L script/ld+json /6"
	if got := linksOf(t, page, Options{}); got != links {
		t.Errorf("%q, want %q", got, links)
	}
	const embeds = "L script/ld+json /1, E script/ld+json /2, L script/ld+json /3, E script/ld+json /4, L script/ld+json /5, L script/ld+json /6, E script/ld+json /7"
	if got := linksOf(t, page, Options{Embeds: true}); got != embeds {
		t.Errorf("%q, want %q", got, embeds)
	}
}

// textsOf returns the texts of the links on a page.
func textsOf(t *testing.T, page, mediaType string) []string {
	t.Helper()
	var texts []string
	for _, l := range HTML([]byte(page), parse(t, testPage), mediaType, Options{Text: true}).Links {
		texts = append(texts, l.Text())
	}
	return texts
}

func TestTextsOfLinks(t *testing.T) {
	for page, want := range map[string][]string{
		"<a href=1>One</a> more":                                                     {"One"},
		"<a href=1> One\n\t<b>a</b>nd  two </a>":                                     {"One and two"},
		"<a href=1>a&amp;b &lt;c&gt;&nbsp;d</a>":                                     {"a&b <c> d"},
		"<a href=1>a<!-- x > -->b<?x?>c</3>d<3 <4</a>":                               {"abcd<3 <4"},
		"<a href=1><img src=x alt='A logo'> here</a>":                                {"A logo here"},
		"<a href=1><img src=x></a><a href=2></a>":                                    {"", ""},
		"<a href=1><div>a</div><div>b</div>c<br>d<td>e<table>f</a>":                  {"a b c d e f"},
		"<a href=1>a<span>b</span>c<wbr>d</a>":                                       {"abcd"},
		"<a href=1>a<script>b</script>c<style>d</style>e<textarea>f</textarea>g</a>": {"aceg"},
		"<a href=1>one<a href=2>two<p>three":                                         {"one", "two three"},
		"<a href=1>one<a>two":                                                        {"one"},
		"<a href=1>one":                                                              {"one"},
		"<a href=1>one<":                                                             {"one"},
		"<a href=1>one<<":                                                            {"one"}, "<a href=1><": {""}, "<a href=1>one</": {"one"}, "<a href=1>one<!": {"one"}, "<a href=1>one<!--": {"one"},
		"<a href=1>one<b":                                                                            {"one"},
		"<a href=1><svg></svg>a<title>b</title>c":                                                    {"ac"},
		"<a href=1><div>a<!-- -->b<?x?>c</div>":                                                      {"abc"},
		"<a href=1><b alt=no>x</b><img alt=y></img alt=no>z":                                         {"xyz"},
		"<area href=1 alt=' An  area '><area href=2>":                                                {"An area", ""},
		"<link rel=next href=1 alt=x>y<q cite=2>z</q>":                                               {"", ""},
		"<a href=1><svg><title>a</title><style>b</style><script>c</script><text>d</text></svg>e</a>": {"ade"},
		"<a href=1><svg/>a<title>b</title>c</a>":                                                     {"ac"},
		"<a href=1><svg><style/>a</svg>b</a><a href=2>c":                                             {"b", "c"},
		"<svg><a href=1><title>a</title>b</a><a href=2 />c</svg>":                                    {"ab", ""},
		"<a href=1 />a</a>":                                                                          {"a"},
		"<noscript><a href=1>a</a></noscript>":                                                       {"a"},
	} {
		if got := textsOf(t, page, "text/html"); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
	if got := textsOf(t, "<a href=1 />a", "application/xhtml+xml"); len(got) != 1 || got[0] != "" {
		t.Errorf("of an element that its tag closes: %q", got)
	}
	for _, l := range HTML([]byte("<a href=1>x</a><area href=1 alt=x>"), parse(t, testPage), "text/html", Options{}).Links {
		if l.Text() != "" {
			t.Errorf("%+v, though texts are not wanted", l)
		}
	}
}

// Links have the language of their targets, in documents of each kind. A value that is too long for
// a language tag is ignored.
func TestLanguagesOfLinks(t *testing.T) {
	u := parse(t, testPage)
	long := strings.Repeat("x", 64)
	for _, test := range []struct{ mediaType, body, want string }{
		{"text/html", "<link rel=alternate hreflang=de href=1><link hreflang=' x-default\n' href=2 rel=alternate>", "1 de, 2 x-default"},
		{"text/html", "<a href=1 hreflang=en-GB rel=next>One</a><area href=2 hreflang=fr alt=Two><a href=3>Three</a>", "1 en-GB One, 2 fr Two, 3 Three"},
		{"text/html", "<a hreflang='&eacute;' href=1></a><link rel=stylesheet hreflang=de href=2><blockquote cite=3 hreflang=de><iframe src=4 hreflang=de>", "1 é, 2, 3, 4"},
		{"text/html", "<a href=1 hreflang=" + long + ">a<a href=2 hreflang=x" + long + ">b", "1 " + long + " a, 2 b"},
		{"text/html", `<iframe srcdoc="<a href=1 hreflang=de>One</a><a href=2>Two</a>"></iframe><a href=3 hreflang=it>Three</a>`, "1 de One, 2 Two, 3 it Three"},
		{"image/svg+xml", "<svg><a href='1' hreflang='de'>One</a></svg>", "1 de One"},
		{"application/atom+xml", "<feed><link href='1' hreflang='de'/><entry><link hreflang='" + long + "x' href='2'/></entry></feed>", "1 de, 2"},
		{"application/xml", "<urlset><url><loc>/0</loc><link rel='alternate' hreflang='de' href='/1'/><link rel='amphtml' href='/2'/></url></urlset>", "0, 1 de, 2"},
		{"", `</1>; rel=alternate; hreflang=de, </2>; hreflang="en" ;hreflang=fr; rel=alternate, </3>; rel=next`, "1 de, 2 en, 3"},
	} {
		d, ok := Read([]byte(test.body), u, test.mediaType, Options{Embeds: true, Text: true})
		if test.mediaType == "" {
			d.AddHeader(http.Header{"Link": {test.body}}, u, Options{})
		}
		var got []string
		for _, l := range d.Links {
			got = append(got, strings.Join(strings.Fields(path.Base(l.URL.Target())+" "+l.Lang()+" "+l.Text()), " "))
		}
		if s := strings.Join(got, ", "); ok != (test.mediaType != "") || s != test.want {
			t.Errorf("%s: %q, want %q", test.body, s, test.want)
		}
	}
}

// The text of a link has at most 256 bytes, from at most 16 KiB of markup.
func TestTheBoundsOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", 256):                        strings.Repeat("x", 256),
		strings.Repeat("x", 257):                        strings.Repeat("x", 256),
		strings.Repeat("x", 255) + "é":                  strings.Repeat("x", 255),
		strings.Repeat("x", 253) + "😀y":                 strings.Repeat("x", 253),
		strings.Repeat("x", 255) + " y":                 strings.Repeat("x", 255),
		strings.Repeat("x ", 1000):                      strings.TrimSpace(strings.Repeat("x ", 128)),
		strings.Repeat("<b>x</b>", 1000):                strings.Repeat("x", 256),
		strings.Repeat("<b>", maxTextMarkup/3+1) + "x":  "",
		strings.Repeat(" ", maxTextMarkup-1) + "xy":     "x",
		"a<img alt='" + strings.Repeat("é", 300) + "'>": "a" + strings.Repeat("é", 127),
	} {
		got := textsOf(t, "<a href=1>"+text+"</a>", "text/html")
		if len(got) != 1 || got[0] != want || !utf8.ValidString(got[0]) {
			t.Errorf("%.40s...: %q, want %q", text, got, want)
		}
	}
}

// References in style elements and style attributes of a page are found.
func TestStylesOfAPage(t *testing.T) {
	for page, want := range map[string]string{
		`<style>@import "1"; a { b: url(2), url( '3' ) }</style>`:                              "E style/@import /dir/1, E style/url /dir/2, E style/url /dir/3",
		`<style type="">a{b:url(1)}</style><style type=Text/CSS>a{b:url(2)}</style>`:           "E style/url /dir/1, E style/url /dir/2",
		`<style type=text/less>a{b:url(1)}</style><style type=" text/css">a{b:url(2)}</style>`: "",
		`<style>a{b:url(1)}`:                     "E style/url /dir/1",
		`<style>a{b:url("&amp;1")}</style>`:      "E style/url /dir/&amp;1",
		`<style>/* <a href=1> url(2) */</style>`: "",
		`<noscript><style>a{b:url(1)}</style></noscript><textarea><style>a{b:url(2)}</style></textarea>`:                       "E style/url /dir/1",
		`<div style="a:url(1)"><p STYLE='b:c;d:url("2"), url(&quot;3&quot;)'><x-y style="a:url(4)"><image style=a:url(5)>`:     "E div/style /dir/1, E p/style /dir/2, E p/style /dir/3, E */style /dir/4, E img/style /dir/5",
		`<p style="a:u\72l&lpar;1)"><p style="@import 'x';a:url(2)"><p style="color:red"><p style>`:                            "E p/style /dir/1, E p/style /dir/2",
		`<p style="a:url(#x) url(data:,x) url()">`:                                                                             "",
		`<a href=1 style=a:url(2)><img src=3 style=a:url(4) data-bg=5>`:                                                        "L a/href /dir/1, E a/style /dir/2, E img/src /dir/3, E img/style /dir/4, E img/data-bg /dir/5",
		`<svg style=a:url(1)><g style=a:url(2) /><title style=a:url(3) /></svg><math style=a:url(4)>`:                          "E svg/style /dir/1, E */style /dir/2, E title/style /dir/3, E math/style /dir/4",
		`<svg><style>a{b:url(1)}</style><style>a{b:url(&quot;2&quot;)} <![CDATA[ c{d:url(3)} ]]> e{f:url(4)}</style>`:          "E style/url /dir/1, E style/url /dir/2, E style/url /dir/3, E style/url /dir/4",
		`<svg><style /><style>a{b:url(1)<g>a{b:url(2)}</g></style><style type=x>a{b:url(3)}</style><style><![CDATA[a{b:url(4)`: "E style/url /dir/1, E style/url /dir/4",
		`<svg><style>a{b:url(1)`:                    "E style/url /dir/1",
		`<svg><style><g>a{b:url(1)}</g></style>`:    "",
		`<math><style>a{b:url(1)}</style>`:          "",
		`<base href=/b/><style>a{b:url(1)}</style>`: "E style/url /b/1",
	} {
		if got := linksOf(t, page, Options{Embeds: true}); got != want {
			t.Errorf("%s:\n%q, want\n%q", page, got, want)
		}
		if got := linksOf(t, page, Options{}); strings.Contains(got, "style") {
			t.Errorf("%s: %q, though embeds are not wanted", page, got)
		}
	}
}

// Queries in style sheets and data blocks are in UTF-8, even in pages with another encoding.
func TestQueriesInStylesAndData(t *testing.T) {
	page := "<a href='?é'><style>a{b:url(?é)}</style><p style='a:url(?é)'>" + dataBlock(`{"url":"/?é"}`)
	var got []string
	for _, l := range HTML([]byte(page), parse(t, testPage), "text/html", Options{Embeds: true, Charset: "windows-1252"}).Links {
		got = append(got, l.Where+" "+l.URL.Target())
	}
	const want = "a/href /dir/page?%E9, style/url /dir/page?%C3%A9, p/style /dir/page?%C3%A9, script/ld+json /?%C3%A9"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%q, want %q", s, want)
	}
}

// The number of references of each kind is limited.
func TestBoundsOfEachKind(t *testing.T) {
	for name, refs := range map[string][2]string{
		"style sheet": {"<style>", "a{b:url(1)}"}, "style attribute": {"<p style='", "a:url(1);"}, "styles": {"", "<p style=a:url(1)>"},
		"data": {"<script type=application/ld+json>[", `{"url":"/1"},`}, "lazy": {"", "<i data-bg=1>"}, "cite": {"", "<q cite=1>"},
		"srcset": {"<img data-srcset='", "1, "}, "og:url": {"", "<meta property=og:url content=/1>"}, "form": {"", "<form action=1>"},
	} {
		for _, n := range []int{MaxLinks, MaxLinks + 1} {
			page := refs[0] + strings.Repeat(refs[1], n)
			switch {
			case strings.HasSuffix(refs[0], "'"):
				page += "'>"
			case name == "data":
				page += "</script>"
			}
			d := HTML([]byte(page), parse(t, testPage), "text/html", Options{Embeds: true, Forms: true})
			if len(d.Links) != MaxLinks || d.Cut != (n > MaxLinks) {
				t.Errorf("%s: of %d %d were taken, cut %v", name, n, len(d.Links), d.Cut)
			}
		}
	}
}

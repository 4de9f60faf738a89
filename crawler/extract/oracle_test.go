package extract

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// oracleHTML does the same as HTML, but uses the tokenizer of x/net/html. The results must be equal
// for documents without SVG and MathML. oracleHTML returns false if its result may be wrong.
func oracleHTML(body []byte, u frontier.URL, mediaType string, opts Options) (Document, bool) {
	s := oracle{opts: opts, z: html.NewTokenizer(bytes.NewReader(body)), xhtml: mediaType == "application/xhtml+xml"}
	s.run()
	return s.document(u), !s.doubtful
}

type oracleRef struct {
	raw, where, rel string
	lang            string
	hop             frontier.Hop
	names           identity
}

type oracle struct {
	z         *html.Tokenizer
	opts      Options
	xhtml     bool
	templates int
	base      string
	hasBase   bool
	refs      []oracleRef
	title     *strings.Builder // the text of the title that is being read; otherwise nil
	text      func(string)     // called with the next text; may be nil
	found     Document
	titled    bool
	body      bool
	doubtful  bool // a data block is not valid JSON
}

func (s *oracle) run() {
	for {
		kind := s.z.Next()
		text := s.text
		s.text = nil
		switch kind {
		case html.ErrorToken:
			return
		case html.TextToken:
			if s.title != nil {
				s.title.Write(s.z.Text())
			}
			if text != nil {
				text(string(s.z.Text()))
			}
		case html.EndTagToken:
			s.endTitle()
			if name, _ := s.z.TagName(); atom.Lookup(name) == atom.Template {
				s.templates = max(0, s.templates-1)
			}
		case html.SelfClosingTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			tag := string(name)
			if s.xhtml {
				// In XHTML the element is empty. In HTML the slash is ignored.
				s.z.NextIsNotRawText()
			}
			if !s.xhtml || tag != "title" {
				s.element(tag, more)
			}
			if s.xhtml {
				s.text = nil
			}
		case html.StartTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			s.element(string(name), more)
		}
	}
}

func (s *oracle) endTitle() {
	if s.title != nil {
		s.found.Title = strings.Join(strings.Fields(s.title.String()), " ")
		s.title = nil
	}
}

func (s *oracle) element(tag string, more bool) {
	attrs := map[string]string{}
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		if _, has := attrs[string(key)]; !has {
			attrs[string(key)] = string(value)
		}
	}
	switch tag {
	case "template":
		s.templates++
	case "title":
		if !s.titled {
			s.titled, s.title = true, new(strings.Builder)
		}
	case "noscript", "noframes":
		// The content of noscript and noframes is read.
		s.z.NextIsNotRawText()
	case "base":
		if href, has := attrs["href"]; has && !s.hasBase && s.templates == 0 {
			s.base, s.hasBase = href, true
		}
	case "meta":
		if attrs["name"] != "" {
			s.found.Directives = s.found.Directives.Merge(robots.MetaDirectives(s.opts.Token, attrs["name"], attrs["content"], s.opts.Aliases...))
		}
	case "body":
		s.body = s.body || s.templates == 0
	case "image":
		tag = "img"
	}
	e := oracleElement{tag: tag, attrs: attrs}
	s.refer(e.refs())
	if e.holdsText() {
		s.text = func(text string) {
			refs, ok := e.textRefs(text)
			s.doubtful = s.doubtful || !ok
			s.refer(refs)
		}
	}
}

func (s *oracle) refer(refs []oracleRef) {
	for _, r := range refs {
		if r.names == canonicalURL && (s.body || s.templates > 0) {
			r.names = anotherURL
		}
		switch {
		case r.hop == frontier.HopEmbed && (!s.opts.Embeds || r.raw == "" || strings.HasPrefix(strings.ToLower(r.raw), "data:")):
		case r.where == "form/action" && !s.opts.Forms:
		case len(s.refs) == MaxLinks:
			s.found.Cut = true
		default:
			s.refs = append(s.refs, r)
		}
	}
}

// document resolves the references and returns the Document.
func (s *oracle) document(u frontier.URL) Document {
	s.endTitle()
	base := u
	if s.hasBase {
		if b, err := u.Resolve(s.base); err == nil {
			base = b
		}
	}
	d := s.found
	var named []frontier.URL
	size := 0
	for _, r := range s.refs {
		target, err := base.Resolve(r.raw)
		if err != nil {
			continue
		}
		size += len(target.String())
		if size > maxLinkBytes {
			d.Cut = true
			break
		}
		d.Links = append(d.Links, Link{
			URL: target, Hop: r.hop, Where: r.where, Rel: r.rel, NoFollow: robots.RelNoFollow(r.rel), said: r.lang, lang: uint8(len(r.lang)),
		})
		if r.names == canonicalURL {
			named = append(named, target)
		}
		if r.names == openGraphURL && d.OpenGraph.IsZero() {
			d.OpenGraph = target
		}
	}
	another := func(u frontier.URL) bool { return u.Key() != named[0].Key() }
	if len(named) > 0 && !slices.ContainsFunc(named, another) {
		d.Canonical = named[0]
	}
	return d
}

// slashInValue matches a value without quotes that ends with a slash. In a repeated attribute,
// x/net/html takes such a slash for that of the tag.
var slashInValue = regexp.MustCompile(`=[ \t\r\n\f]*[^ \t\r\n\f>]*/>`)

// escapedScript matches a script in which x/net/html may end an escaped part too early.
var escapedScript = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

func compareWithOracle(t *testing.T, body []byte, u frontier.URL) {
	t.Helper()
	for i := range 8 {
		mediaType := []string{"text/html", "application/xhtml+xml"}[i&1]
		if mediaType != "text/html" && slashInValue.Match(body) || escapedScript.Match(body) {
			continue
		}
		opts := Options{Token: "testbot", Embeds: i&2 != 0, Forms: i&4 != 0, Text: i&4 != 0}
		want, known := oracleHTML(bytes.Clone(body), u, mediaType, opts)
		if !known {
			continue
		}
		got := HTML(body, u, mediaType, opts)
		for i := range got.Links {
			l := &got.Links[i]
			if len(l.Text()) > maxText || l.Text() != "" && !slices.Contains([]string{"a/href", "area/href", "a/xlink:href"}, l.Where) {
				t.Fatalf("%q as %s: text of %+v", body, mediaType, l)
			}
			l.said = l.Lang() // not compared, because texts have their own tests
		}
		if !slices.Equal(want.Links, got.Links) || want.Title != got.Title || want.Canonical != got.Canonical || want.OpenGraph != got.OpenGraph ||
			want.Directives != got.Directives || want.Cut != got.Cut {
			t.Fatalf("%q as %s, %+v:\nx/net/html %+v\nours       %+v", body, mediaType, opts, want, got)
		}
	}
}

// The documents are made of parts that tokenizers often read differently.
func TestTagsAreReadAsByTheTokenizerOfXNet(t *testing.T) {
	parts := []string{
		"<a href=1>", "<a href='2'>", `<A HREF="3" rel=nofollow>`, "<a ", "<a\n", "<a/", "<a", "</a>", "</a ", "</", "<", "</>", "</3>", "<?", "<!", "<!>", "<3",
		"<!--", "<!-->", "<!--->", "-->", "--!>", "-", "!", "<!doctype html>", "<!DOCTYPE", "<![CDATA[", "]]>",
		"<script>", "<script/>", "<SCRIPT ", "</script>", "</script ", "</SCRIPT/", "</scrip", "</script", "<style>", "</style>", "<textarea>", "</textarea>",
		"<title>", "<title/>", "</title>", "</TITLE\f", "</titl", "<noscript>", "<noscript/>", "</noscript>", "<noframes>", "</noframes>", "<noembed>", "</noembed>", "<plaintext>",
		"<plaintext/>", "<xmp>", "</xmp>", "<iframe src=4>", "<iframe src=5/>", "</iframe>", "<frame src=6>", "<area href=7>", "<template>", "</template>", "</p>",
		"<image src=30>", "<title a='/>", "<titlee>", "<p>", "<p a='", "<base href=/b/>", "<base>",
		`<meta name=robots content=noindex>`, `<meta name="" content="none">`, `<meta name=testbot content='nofollow'`, `<meta http-equiv=refresh content="0;url=8">`,
		"<img src=14>", "<img srcset='15 2x, 16,17 (a,b) 3x,,'", "<source srcset=18 src=19>", "<script src=20>", "<img ", " srcset='21, 22'",
		"<link rel=next href=9>", "<link rel=canonical href=10>", "<link rel=stylesheet href=11>", "<link rel='icon x' imagesrcset='31, 32' href=33>",
		"<q cite=34>", "<blockquote cite=/35 ", "<object data=36 ", " type='text/html;x'>", "<embed src=37>", "<video poster=38 ", "<td background=39>",
		"<input type=IMAGE src=40>", "<form action='41?x'>", "<form method=post action=42>", " method=Get action=/43#x", "<div data-bg=44 ", " data-background-image='45'", " data-bg=' Url(58)' data-background-image=\"url('59'),\"",
		"<iframe data-src=46>", " data-srcset='47,, 48'", " data-lazy-src=49 data-src=50", "<meta property=og:url content=//b.example/51>", "<meta property='OG:Image ' content=/52>",
		"<script type=application/ld+json>", `{"url":"/53"}`, `["url",{"@type":"ImageObject","url":["/54","55"]}]`, "<img longdesc=56 src='Data:,' srcset='DATA:, 57'>",
		" hreflang=de", " HREFLANG=' x-default'", " hreflang", "<body>", "<link rel=canonical href=60 ", " media=print", "<meta property=og:url content='/61'>", " href=12", " href", "=", "'", `"`, "/", ">", " ", "\r", "\n", "\t", "\f", "\x00", "x", "text", " rel=", "REL='a\rb'", "src=13",
		"&amp;", "&amp", "&", "&copy", "&copy=", "&copy;", "&notit;", "&notin;", "&semi;", "&#", "&#x", "&#65", "&#x4f;", "&#X4F", "&#0;", "&#128;", "&#99999999;", ";", "&NotEqualTilde;", "1", "é", "\xff",
	}
	u := parse(t, "http://a.example/dir/page")
	random := rand.New(rand.NewPCG(3, 4))
	links := 0
	for range 30_000 {
		var page []byte
		for range 1 + random.IntN(12) {
			page = append(page, parts[random.IntN(len(parts))]...)
		}
		for range random.IntN(3) {
			page[random.IntN(len(page))] = "<>/!-=\"' \x00a&"[random.IntN(12)]
		}
		compareWithOracle(t, page, u)
		links += len(HTML(page, u, "text/html", Options{Token: "testbot", Embeds: true, Forms: true}).Links)
	}
	if links < 20_000 {
		t.Errorf("only %d links in all documents", links)
	}
}

func TestScriptsEndAsTheStandardSays(t *testing.T) {
	parts := []string{"<!--", "-->", "--!>", "<script", "<SCRIPT", "</script", "</Script", ">", " ", "/", "<", "-", "--", "!", "s", "script", "\n"}
	random := rand.New(rand.NewPCG(5, 6))
	ended := 0
	for range 100_000 {
		var text []byte
		for range 1 + random.IntN(12) {
			text = append(text, parts[random.IntN(len(parts))]...)
		}
		if text = append(text, "<a></script><a>--></script>"...); random.IntN(4) == 0 {
			text = text[:random.IntN(len(text))]
		}
		z := tokenizer{buf: text, rawText: "script"}
		want := scriptEnd(string(text))
		if got := len(z.readRawText()); got != want {
			t.Fatalf("%q ends at %d, we read %d", text, want, got)
		}
		if want < len(text) {
			ended++
		}
	}
	if ended < 50_000 {
		t.Errorf("only %d scripts ended", ended)
	}
}

// scriptEnd returns the offset of the end of a script's text. It implements the states of HTML,
// sections 13.2.5.4 and 13.2.5.15 to 13.2.5.31.
func scriptEnd(text string) int {
	state, back, name, start := "data", "", "", 0
	for i := 0; i < len(text); {
		c := text[i]
		ends := strings.IndexByte(" \n\r\t\f/>", c) >= 0
		next := "" // next state; empty if the state does not change
		again := func(s string) { next = s; i-- }
		switch state {
		case "data":
			if c == '<' {
				next, start = "less-than", i
			}
		case "less-than":
			switch c {
			case '/':
				next, back, name = "end tag", "data", ""
			case '!':
				next = "escape start"
			default:
				again("data")
			}
		case "end tag":
			switch {
			case ends && name == "script":
				return start
			case letter(c):
				name += strings.ToLower(string(c))
			default:
				again(back)
			}
		case "escape start", "escape start dash":
			switch {
			case c != '-':
				again("data")
			case state == "escape start":
				next = "escape start dash"
			default:
				next = "escaped dash dash"
			}
		case "escaped", "escaped dash", "escaped dash dash", "double escaped", "double escaped dash", "double escaped dash dash":
			plain, _, _ := strings.Cut(state, " dash")
			switch {
			case c == '-' && state == plain:
				next = plain + " dash"
			case c == '-':
				next = plain + " dash dash"
			case c == '<':
				next, start = plain+" less-than", i
			case c == '>' && strings.HasSuffix(state, "dash dash"):
				next = "data"
			default:
				next = plain
			}
		case "escaped less-than":
			switch {
			case c == '/':
				next, back, name = "end tag", "escaped", ""
			case letter(c):
				name = ""
				again("double escape start")
			default:
				again("escaped")
			}
		case "double escaped less-than":
			if c == '/' {
				next, name = "double escape end", ""
			} else {
				again("double escaped")
			}
		case "double escape start", "double escape end":
			in, out := "double escaped", "escaped"
			if state == "double escape end" {
				in, out = out, in
			}
			switch {
			case ends && name == "script":
				next = in
			case ends:
				next = out
			case letter(c):
				name += strings.ToLower(string(c))
			default:
				again(out)
			}
		}
		if next != "" {
			state = next
		}
		i++
	}
	return len(text)
}

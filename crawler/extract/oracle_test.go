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

// oracleHTML is HTML by the tokenizer of x/net/html: what HTML must find where
// no SVG or MathML is.
func oracleHTML(body []byte, u frontier.URL, mediaType string, opts Options) Document {
	s := oracle{embeds: opts.Embeds, z: html.NewTokenizer(bytes.NewReader(body)), token: opts.Token, xhtml: mediaType == "application/xhtml+xml"}
	s.run()
	return s.document(u)
}

type oracleRef struct {
	raw, where, rel string
	hop             frontier.Hop
}

type oracle struct {
	z         *html.Tokenizer
	token     string
	xhtml     bool
	embeds    bool
	templates int
	base      string
	hasBase   bool
	refs      []oracleRef
	title     *strings.Builder // being read
	found     Document
	titled    bool
}

func (s *oracle) run() {
	for {
		switch s.z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if s.title != nil {
				s.title.Write(s.z.Text())
			}
		case html.EndTagToken:
			s.endTitle()
			if name, _ := s.z.TagName(); atom.Lookup(name) == atom.Template {
				s.templates = max(0, s.templates-1)
			}
		case html.SelfClosingTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			tag := atom.Lookup(name)
			if s.xhtml {
				// Nothing is inside; in HTML the slash says nothing.
				s.z.NextIsNotRawText()
			}
			if !s.xhtml || tag != atom.Title {
				s.element(tag, more)
			}
		case html.StartTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			tag := atom.Lookup(name)
			s.element(tag, more)
		}
	}
}

func (s *oracle) endTitle() {
	if s.title != nil {
		s.found.Title = strings.Join(strings.Fields(s.title.String()), " ")
		s.title = nil
	}
}

func (s *oracle) element(tag atom.Atom, more bool) {
	switch tag {
	case atom.Template:
		s.templates++
	case atom.Title:
		if !s.titled {
			s.titled, s.title = true, new(strings.Builder)
		}
	case atom.Noscript, atom.Noframes:
		// What is for readers without scripts and frames is for us.
		s.z.NextIsNotRawText()
	case atom.A, atom.Area, atom.Base, atom.Link, atom.Iframe, atom.Frame, atom.Meta, atom.Img, atom.Image, atom.Source, atom.Script:
		if more {
			s.attributes(tag)
		}
	}
}

// oracleAttributes are those that matter of any element; the first of a name counts.
type oracleAttributes struct {
	href, src, srcset, rel, name, content, equiv string
	hasHref, hasSrc, hasSrcset                   bool
}

func (s *oracle) attributes(tag atom.Atom) {
	var a oracleAttributes
	for more := true; more; {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "href":
			if !a.hasHref {
				a.href, a.hasHref = string(value), true
			}
		case "src":
			if !a.hasSrc {
				a.src, a.hasSrc = string(value), true
			}
		case "srcset":
			if !a.hasSrcset {
				a.srcset, a.hasSrcset = string(value), true
			}
		case "rel":
			oracleFirst(&a.rel, value)
		case "name":
			oracleFirst(&a.name, value)
		case "content":
			oracleFirst(&a.content, value)
		case "http-equiv":
			oracleFirst(&a.equiv, value)
		}
	}
	if tag == atom.Image {
		tag = atom.Img
	}
	switch tag {
	case atom.A:
		s.refer(a.hasHref, oracleRef{a.href, "a/href", a.rel, frontier.HopLink})
	case atom.Area:
		s.refer(a.hasHref, oracleRef{a.href, "area/href", a.rel, frontier.HopLink})
	case atom.Link:
		if linked(a.rel) {
			s.refer(a.hasHref, oracleRef{a.href, "link/href", a.rel, frontier.HopLink})
		} else if s.embeds && shown(a.rel) {
			s.refer(a.hasHref, oracleRef{a.href, "link/href", "", frontier.HopEmbed})
		}
	case atom.Img, atom.Source, atom.Script:
		if !s.embeds {
			return
		}
		s.refer(a.hasSrc, oracleRef{a.src, tag.String() + "/src", "", frontier.HopEmbed})
		if tag != atom.Script {
			for raw := range imageCandidates(a.srcset) {
				s.refer(true, oracleRef{raw, tag.String() + "/srcset", "", frontier.HopEmbed})
			}
		}
	case atom.Iframe:
		s.refer(a.hasSrc, oracleRef{a.src, "iframe/src", "", frontier.HopLink})
	case atom.Frame:
		s.refer(a.hasSrc, oracleRef{a.src, "frame/src", "", frontier.HopLink})
	case atom.Base:
		if a.hasHref && !s.hasBase && s.templates == 0 {
			s.base, s.hasBase = a.href, true
		}
	case atom.Meta:
		s.meta(a)
	}
}

func oracleFirst(to *string, value []byte) {
	if *to == "" {
		*to = string(value)
	}
}

func (s *oracle) refer(has bool, r oracleRef) {
	switch {
	case !has:
	case len(s.refs) == MaxLinks:
		s.found.Cut = true
	default:
		s.refs = append(s.refs, r)
	}
}

func (s *oracle) meta(a oracleAttributes) {
	if a.name != "" {
		s.found.Directives = s.found.Directives.Merge(robots.MetaDirectives(s.token, a.name, a.content))
	}
	if strings.EqualFold(a.equiv, "refresh") {
		if raw, ok := refreshURL(a.content); ok {
			s.refer(true, oracleRef{raw, "meta/refresh", "", frontier.HopLink})
		}
	}
}

// document resolves the references.
func (s *oracle) document(u frontier.URL) Document {
	s.endTitle()
	base := u
	if s.hasBase {
		if b, err := u.Resolve(s.base); err == nil {
			base = b
		}
	}
	d := s.found
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
			URL: target, Hop: r.hop, Where: r.where, Rel: r.rel, NoFollow: robots.RelNoFollow(r.rel),
		})
		if r.where == "link/href" && r.hop == frontier.HopLink && d.Canonical.IsZero() && strings.EqualFold(strings.TrimSpace(r.rel), "canonical") {
			d.Canonical = target
		}
	}
	return d
}

// slashInValue is what may be a value that ends in a slash: where the attribute is
// a repeated one, x/net/html takes the slash for the tag's.
var slashInValue = regexp.MustCompile(`=[ \t\r\n\f]*[^ \t\r\n\f>]*/>`)

// escapedScript is a script in which x/net/html may leave an escape too early.
var escapedScript = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

func compareWithOracle(t *testing.T, body []byte, u frontier.URL) {
	t.Helper()
	for i, mediaType := range []string{"text/html", "application/xhtml+xml", "text/html", "application/xhtml+xml"} {
		if mediaType != "text/html" && slashInValue.Match(body) || escapedScript.Match(body) {
			continue
		}
		opts := Options{Token: "testbot", Embeds: i < 2}
		want := oracleHTML(bytes.Clone(body), u, mediaType, opts)
		got := HTML(body, u, mediaType, opts)
		if !slices.Equal(want.Links, got.Links) || want.Title != got.Title || want.Canonical != got.Canonical ||
			want.Directives != got.Directives || want.Cut != got.Cut {
			t.Fatalf("%q as %s:\nx/net/html %+v\nours       %+v", body, mediaType, want, got)
		}
	}
}

// Documents made of what tokenizers differ about.
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
		"<link rel=next href=9>", "<link rel=canonical href=10>", "<link rel=stylesheet href=11>",
		" href=12", " href", "=", "'", `"`, "/", ">", " ", "\r", "\n", "\t", "\f", "\x00", "x", "text", " rel=", "REL='a\rb'", "src=13",
		"&amp;", "&amp", "&", "&copy", "&copy=", "&copy;", "&notit;", "&notin;", "&semi;", "&#", "&#x", "&#65", "&#x4f;", "&#X4F", "&#0;", "&#128;", "&#99999999;", ";", "&NotEqualTilde;", "1", "é", "\xff",
	}
	u := parse(t, "http://a.example/dir/page")
	random := rand.New(rand.NewPCG(3, 4))
	links := 0
	for range 60_000 {
		var page []byte
		for range 1 + random.IntN(12) {
			page = append(page, parts[random.IntN(len(parts))]...)
		}
		for range random.IntN(3) {
			page[random.IntN(len(page))] = "<>/!-=\"' \x00a&"[random.IntN(12)]
		}
		compareWithOracle(t, page, u)
		links += len(HTML(page, u, "text/html", Options{Token: "testbot"}).Links)
	}
	if links < 10_000 {
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

// scriptEnd is where the text of a script ends, state by state (HTML, sections
// 13.2.5.4 and 13.2.5.15 to 13.2.5.31).
func scriptEnd(text string) int {
	state, back, name, start := "data", "", "", 0
	for i := 0; i < len(text); {
		c := text[i]
		ends := strings.IndexByte(" \n\r\t\f/>", c) >= 0
		next := "" // without one, the state reads on
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

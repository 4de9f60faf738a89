package extract

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/html/atom"
)

// An oracleElement is an element that a parser has read. This file is a second implementation of
// the rules for links, independent of the code of HTML.
type oracleElement struct {
	space string // "", "svg" or "math"
	tag   string
	attrs map[string]string
}

// Attributes of HTML elements that contain a link (L), an embedded resource (E) or a list of
// images.
var oracleSources = map[string]string{
	"a": "href:L", "area": "href:L", "blockquote": "cite:L", "q": "cite:L", "ins": "cite:L", "del": "cite:L",
	"frame": "src:L longdesc:L", "iframe": "src:L data-src:L data-lazy-src:L longdesc:L",
	"img":    "longdesc:L src:E srcset:S data-src:E data-srcset:S data-original:E data-lazy-src:E data-lazy-srcset:S",
	"source": "src:E srcset:S data-src:E data-srcset:S data-lazy-srcset:S",
	"script": "src:E", "video": "src:E poster:E data-src:E data-poster:E", "audio": "src:E data-src:E", "track": "src:E",
	"body": "background:E", "table": "background:E", "thead": "background:E", "tbody": "background:E", "tfoot": "background:E",
	"tr": "background:E", "td": "background:E", "th": "background:E",
}

var (
	oracleBlanks = regexp.MustCompile(`[ \t\r\n\f]+`)
	oracleLeads  = strings.Fields("alternate author bookmark canonical help license next prev privacy-policy search tag terms-of-service " +
		"appendix chapter contents copyright glossary index section start subsection begin end first home last parent previous toc top up " +
		"about amphtml archives collection describedby item latest-version original predecessor-version related successor-version version-history via")
	oracleShows = strings.Fields("stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon manifest preload modulepreload")
	oracleHints = strings.Fields("prefetch preconnect dns-prefetch")

	oracleOfPage   = regexp.MustCompile(`^[ \t\r\n\f]*#`)
	oracleIsHTML   = regexp.MustCompile(`^[ \t\r\n\f]*(text/html|application/xhtml\+xml)[ \t\r\n\f]*(;|$)`)
	oracleIsData   = regexp.MustCompile(`^[ \t\r\n\f]*application/ld\+json[ \t\r\n\f]*(;|$)`)
	oraclePath     = regexp.MustCompile(`^[^?#]*`)
	oracleNothing  = regexp.MustCompile(`^[ \t\r\n\f]*$`)
	oracleAnchored = regexp.MustCompile(`(?i)^[ \t\r\n\f]*(/|https?://)`)
)

func (e *oracleElement) refs() (refs []oracleRef) {
	add := func(from, kind, rel string) {
		raw, has := e.attrs[from]
		where := e.tag + "/" + from
		switch {
		case !has:
		case kind == "S":
			for image := range imageCandidates(raw) {
				refs = append(refs, oracleRef{raw: image, where: where, hop: frontier.HopEmbed})
			}
		default:
			r := oracleRef{raw: raw, where: where, rel: rel, hop: frontier.Hop(kind[0])}
			if tag := strings.Trim(e.attrs["hreflang"], " \t\r\n\f"); kind == "L" && strings.HasSuffix(from, "href") && len(tag) <= 64 {
				r.lang = tag
			}
			refs = append(refs, r)
		}
	}
	style := func() {
		for raw, kind := range styleRefs(e.attrs["style"]) {
			if kind == urlKind {
				refs = append(refs, oracleRef{raw: raw, where: e.known() + "/style", hop: frontier.HopEmbed})
			}
		}
	}
	if e.space != "" {
		e.svg(add)
		style()
		return refs
	}
	for entry := range strings.FieldsSeq(oracleSources[e.tag]) {
		from, kind, _ := strings.Cut(entry, ":")
		rel := ""
		if e.tag == "a" || e.tag == "area" {
			rel = e.attrs["rel"]
		}
		add(from, kind, rel)
	}
	style()
	for _, from := range []string{"data-bg", "data-background-image"} {
		raw, has := e.attrs[from]
		switch {
		case lateValue.MatchString(raw):
			for raw, kind := range styleRefs(raw) {
				if kind == urlKind {
					refs = append(refs, oracleRef{raw: raw, where: e.known() + "/" + from, hop: frontier.HopEmbed})
				}
			}
		case has:
			refs = append(refs, oracleRef{raw: raw, where: e.known() + "/" + from, hop: frontier.HopEmbed})
		}
	}
	e.others(add, func(as identity) { refs[len(refs)-1].names = as }, func(r oracleRef) { refs = append(refs, r) })
	return refs
}

var lateValue = regexp.MustCompile(`(?i)^[ \t\n\f\r]*url\(`)

// known returns the name of the element, or "*" if HTML has no such element.
func (e *oracleElement) known() string {
	if atom.Lookup([]byte(strings.ToLower(e.tag))) == 0 {
		return "*"
	}
	return strings.ToLower(e.tag)
}

// svg adds the references of an SVG element.
func (e *oracleElement) svg(add func(from, kind, rel string)) {
	kind := map[string]string{"a": "L", "image": "E", "feImage": "E", "use": "E", "script": "E"}[e.tag]
	if e.space != "svg" || kind == "" {
		return
	}
	from := "href"
	if _, has := e.attrs[from]; !has {
		from = "xlink:href"
	}
	if kind == "L" {
		add(from, kind, e.attrs["rel"])
	} else if !oracleOfPage.MatchString(e.attrs[from]) {
		add(from, kind, "")
	}
}

// others adds references of elements that have further conditions.
func (e *oracleElement) others(add func(from, kind, rel string), name func(identity), note func(oracleRef)) {
	lower := func(key string) string { return strings.ToLower(e.attrs[key]) }
	holds := "E"
	if oracleIsHTML.MatchString(lower("type")) {
		holds = "L"
	}
	switch e.tag {
	case "object":
		add("data", holds, "")
	case "embed":
		add("src", holds, "")
	case "input":
		if lower("type") == "image" {
			add("src", "E", "")
		}
	case "form":
		action := oraclePath.FindString(e.attrs["action"])
		if m := lower("method"); m != "post" && m != "dialog" && !oracleNothing.MatchString(action) {
			note(oracleRef{raw: action, where: "form/action", hop: frontier.HopLink})
		}
	case "link":
		rels := oracleBlanks.Split(lower("rel"), -1)
		among := func(list []string) bool {
			return slices.ContainsFunc(rels, func(r string) bool { return slices.Contains(list, r) })
		}
		if among(oracleShows) {
			add("href", "E", "")
			add("imagesrcset", "S", "")
		} else if among(oracleLeads) && !among(oracleHints) {
			add("href", "L", e.attrs["rel"])
			if _, has := e.attrs["href"]; has && oracleNames.MatchString(e.attrs["rel"]) && !oracleNothing.MatchString(e.attrs["href"]) && !e.isVersion() {
				name(canonicalURL)
			}
		}
	case "meta":
		content := e.attrs["content"]
		if lower("http-equiv") == "refresh" {
			if raw, ok := refreshURL(content); ok {
				note(oracleRef{raw: raw, where: "meta/refresh", hop: frontier.HopLink})
			}
		}
		if !oracleAnchored.MatchString(content) {
			return
		}
		switch oracleBlanks.ReplaceAllString(lower("property"), "") {
		case "og:url":
			note(oracleRef{raw: content, where: "meta/og:url", hop: frontier.HopLink, names: openGraphURL})
		case "og:image", "og:image:url", "og:image:secure_url":
			note(oracleRef{raw: content, where: "meta/og:image", hop: frontier.HopEmbed})
		}
	}
}

var oracleNames = regexp.MustCompile(`(?i)^[ \t\n\f\r]*canonical[ \t\n\f\r]*$`)

// isVersion reports whether a link is to another version of the page.
func (e *oracleElement) isVersion() bool {
	for _, key := range []string{"hreflang", "lang", "media", "type"} {
		if _, has := e.attrs[key]; has {
			return true
		}
	}
	return false
}

func (e *oracleElement) holdsText() bool {
	if e.tag == "style" && e.space != "math" {
		kind := strings.ToLower(e.attrs["type"])
		return kind == "" || kind == "text/css"
	}
	return e.space == "" && e.tag == "script" &&
		oracleIsData.MatchString(strings.ToLower(e.attrs["type"]))
}

// textRefs returns the references in the text of an element. ok is false if the text cannot be
// parsed.
func (e *oracleElement) textRefs(text string) (refs []oracleRef, ok bool) {
	if e.tag == "style" {
		for raw, kind := range styleRefs(text) {
			where := map[string]string{urlKind: "style/url", importKind: "style/@import"}[kind]
			refs = append(refs, oracleRef{raw: raw, where: where, hop: frontier.HopEmbed})
		}
		return refs, true
	}
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	oracleData(d, "", nil, false, &refs)
	return slices.DeleteFunc(refs, func(r oracleRef) bool { return !oracleAnchored.MatchString(r.raw) }), true
}

// An oracleObject is a JSON object that is being read.
type oracleObject struct {
	urls  []int
	image bool
}

// oracleData reads the next value of d, which is the value of key in the object of.
func oracleData(d *json.Decoder, key string, of *oracleObject, context bool, refs *[]oracleRef) {
	token, err := d.Token()
	if err != nil {
		return
	}
	context = context || key == "@context"
	switch v := token.(type) {
	case string:
		if of == nil || context {
			return
		}
		switch key {
		case "url":
			of.urls = append(of.urls, len(*refs))
			*refs = append(*refs, oracleRef{raw: v, where: "script/ld+json", hop: frontier.HopLink})
		case "@type":
			of.image = of.image || strings.HasSuffix(v, "ImageObject")
		}
	case json.Delim:
		if v == '[' {
			for d.More() {
				oracleData(d, key, of, context, refs)
			}
		} else {
			var object oracleObject
			for d.More() {
				name, _ := d.Token()
				oracleData(d, name.(string), &object, context, refs)
			}
			for _, i := range object.urls {
				if object.image {
					(*refs)[i].hop = frontier.HopEmbed
				}
			}
		}
		d.Token()
	}
}

package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// A source is an attribute of an HTML element that contains a URL, or a list of images with URLs.
type source struct {
	from  name
	where string
	hop   frontier.Hop
}

const (
	leads = frontier.HopLink
	shows = frontier.HopEmbed
)

// sourcesOf lists, for each HTML element, the attributes whose URLs need no further check. The
// links of an element are found in this order.
var sourcesOf = [tagCount][]source{
	aTag:          {{hrefName, "a/href", leads}},
	areaTag:       {{hrefName, "area/href", leads}},
	blockquoteTag: {{citeName, "blockquote/cite", leads}},
	qTag:          {{citeName, "q/cite", leads}},
	insTag:        {{citeName, "ins/cite", leads}},
	delTag:        {{citeName, "del/cite", leads}},
	frameTag:      {{srcName, "frame/src", leads}, {longdescName, "frame/longdesc", leads}},
	iframeTag: {
		{srcName, "iframe/src", leads}, {dataSrcName, "iframe/data-src", leads}, {dataLazySrcName, "iframe/data-lazy-src", leads},
		{longdescName, "iframe/longdesc", leads},
	},
	imgTag: {
		{longdescName, "img/longdesc", leads},
		{srcName, "img/src", shows}, {srcsetName, "img/srcset", shows},
		{dataSrcName, "img/data-src", shows}, {dataSrcsetName, "img/data-srcset", shows},
		{dataOriginalName, "img/data-original", shows},
		{dataLazySrcName, "img/data-lazy-src", shows}, {dataLazySrcsetName, "img/data-lazy-srcset", shows},
	},
	sourceTag: {
		{srcName, "source/src", shows}, {srcsetName, "source/srcset", shows},
		{dataSrcName, "source/data-src", shows}, {dataSrcsetName, "source/data-srcset", shows},
		{dataLazySrcsetName, "source/data-lazy-srcset", shows},
	},
	scriptTag: {{srcName, "script/src", shows}},
	videoTag: {
		{srcName, "video/src", shows}, {posterName, "video/poster", shows},
		{dataSrcName, "video/data-src", shows}, {dataPosterName, "video/data-poster", shows},
	},
	audioTag: {{srcName, "audio/src", shows}, {dataSrcName, "audio/data-src", shows}},
	trackTag: {{srcName, "track/src", shows}},
	bodyTag:  {{backgroundName, "body/background", shows}},
	tableTag: {{backgroundName, "table/background", shows}},
	theadTag: {{backgroundName, "thead/background", shows}},
	tbodyTag: {{backgroundName, "tbody/background", shows}},
	tfootTag: {{backgroundName, "tfoot/background", shows}},
	trTag:    {{backgroundName, "tr/background", shows}},
	tdTag:    {{backgroundName, "td/background", shows}},
	thTag:    {{backgroundName, "th/background", shows}},
}

// foreign reads a tag of SVG or MathML. Only SVG has links and embedded resources; both have style
// attributes.
func (s *scanner) foreign() {
	if s.space == svgSpace {
		switch s.z.tag {
		case aTag:
			s.svg("a/href", "a/xlink:href", leads)
		case imgTag:
			s.svg("image/href", "image/xlink:href", shows)
		case feImageTag:
			s.svg("feImage/href", "feImage/xlink:href", shows)
		case useTag:
			s.svg("use/href", "use/xlink:href", shows)
		case scriptTag:
			s.svg("script/href", "script/xlink:href", shows)
		case styleTag:
			if s.z.embeds && !s.z.selfClosing() {
				s.styleSheet(s.z.foreignText())
			}
		}
	}
	if s.z.embeds {
		s.styleAttribute()
		if s.space == svgSpace {
			s.presentation()
		}
	}
}

// svg adds the reference in the href or xlink:href of an SVG element. href takes precedence (SVG 2,
// section 16.1.6).
func (s *scanner) svg(where, whereX string, hop frontier.Hop) {
	from := hrefName
	if !s.z.has(hrefName) {
		from, where = xlinkName, whereX
	}
	if hop == shows && strings.HasPrefix(strings.TrimLeft(s.z.value(from), blanks), "#") {
		return // a URL such as #a is a part of the document itself
	}
	s.refer(&source{from, where, hop})
}

func (s *scanner) element(tag tag) {
	if s.open.xml && tag != otherTag && s.z.selfClosing() {
		// In XHTML a tag that ends with a slash is an empty element. In HTML the slash is ignored.
		s.z.rawText = ""
		if tag == titleTag {
			return
		}
	}
	for i := range sourcesOf[tag] {
		s.refer(&sourcesOf[tag][i])
	}
	if s.z.embeds {
		s.styleAttribute()
		s.late()
	}
	switch tag {
	case bodyTag:
		s.body = s.body || !s.open.inTemplate()
	case titleTag:
		if !s.titled {
			s.titled = true
			s.found.Title = decodeText(s.z.readRawText())
			if !isFolded(s.found.Title) {
				s.found.Title = strings.Join(strings.Fields(s.found.Title), " ")
			}
		}
	case linkTag:
		s.linkElement()
	case iframeTag:
		s.inner()
	case objectTag:
		s.refer(&source{dataName, "object/data", s.nested()})
	case embedTag:
		s.refer(&source{srcName, "embed/src", s.nested()})
	case inputTag:
		if strings.EqualFold(s.z.value(typeName), "image") {
			s.refer(&source{srcName, "input/src", shows})
		}
	case formTag:
		if s.opts.Forms {
			s.form()
		}
	case baseTag:
		if s.z.has(hrefName) && !s.hasBase && !s.open.inTemplate() {
			s.base, s.hasBase = s.z.value(hrefName), true
		}
	case metaTag:
		s.meta()
	case scriptTag:
		switch {
		case s.z.rawText == "":
		case isJSONLD(s.z.value(typeName)):
			s.jsonLD(s.z.readRawText())
		case isRSL(s.z.value(typeName)):
			s.terms(s.z.readRawText())
		}
	case styleTag:
		if s.z.embeds && s.z.rawText != "" {
			s.styleSheet(string(s.z.readRawText()))
		}
	}
}

// isFolded reports whether text has no white space except single spaces between words. For a text
// with non-ASCII characters it returns false.
func isFolded(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= 0x80 || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return last != ' '
}

// late adds the references of data-bg and data-background-image. Any element can have these
// attributes. Scripts load such images later than the page itself.
func (s *scanner) late() {
	const late = 1<<dataBgName | 1<<dataBackgroundName
	if s.z.set&late == 0 {
		return
	}
	name := s.nameOfElement()
	s.lateBackground(dataBgName, name+"/data-bg")
	s.lateBackground(dataBackgroundName, name+"/data-background-image")
}

// lateBackground adds the references of an attribute that names background images. Some scripts
// read the attribute as a URL, and others as a value of background-image, which contains URLs.
func (s *scanner) lateBackground(from name, where string) {
	const function = "url("
	if !s.z.has(from) {
		return
	}
	css := strings.TrimLeft(s.z.value(from), blanks)
	if len(css) < len(function) || !strings.EqualFold(css[:len(function)], function) {
		s.refer(&source{from, where, shows})
		return
	}
	for raw, kind := range styleRefs(css) {
		if kind == urlKind && !s.addUTF8(where, shows, raw) {
			return
		}
	}
}

// nameOfElement returns the name of the tag that was read. It returns "*" if HTML has no such name,
// because pages can invent any name.
func (s *scanner) nameOfElement() string {
	if s.z.tag == imgTag && s.space == htmlSpace {
		return "img" // HTML reads <image> as <img>
	}
	if name := s.z.elementName().String(); name != "" {
		return name
	}
	return "*"
}

// nested returns the kind of link (frontier.Hop) of an object or embed element. An HTML document in
// it is a link, as in a frame. Any other resource is embedded.
func (s *scanner) nested() frontier.Hop {
	mediaType, _, _ := strings.Cut(s.z.value(typeName), ";")
	if IsHTML(strings.ToLower(strings.Trim(mediaType, blanks))) {
		return leads
	}
	return shows
}

// form adds the URL in the action of a form, if the form sends its data as a query. The query with
// the user's data would replace the query of the action, and is not known. So the link is the
// action without a query.
func (s *scanner) form() {
	switch strings.ToLower(s.z.value(methodName)) {
	case "post", "dialog":
		return
	}
	raw := s.z.value(actionName)
	if end := strings.IndexAny(raw, "?#"); end >= 0 {
		raw = raw[:end]
	}
	if strings.Trim(raw, blanks) != "" {
		s.add("form/action", leads, raw)
	}
}

func (s *scanner) linkElement() {
	s.licenseElement()
	switch rel := s.z.value(relName); {
	case linked(rel):
		n := len(s.refs)
		s.refer(&source{hrefName, "link/href", leads})
		if len(s.refs) > n && s.canonicalElement(rel) {
			s.refs[n].names = canonicalURL
		}
	case s.z.embeds && shown(rel):
		s.refer(&source{hrefName, "link/href", shows})
		s.refer(&source{imagesrcsetName, "link/imagesrcset", shows})
	}
}

// linked reports whether a link with this rel leads to another document.
func linked(rel string) bool { return linkHop(rel) == leads }

// shown reports whether a document embeds the target of a link with this rel.
func shown(rel string) bool { return linkHop(rel) == shows }

// linkHop returns the kind (frontier.Hop) of a link with this rel. It returns zero if the link
// leads neither to another document nor to an embedded resource. It knows the link types of HTML
// (section 4.6.7), of HTML 4 (section 6.12), and of documentation generators, and those that IANA
// registers for other versions and parts of a document. It leaves out shortlink, which leads back
// to the same page.
func linkHop(rel string) frontier.Hop {
	var hop frontier.Hop
	hint := false
	for t := range strings.FieldsFuncSeq(strings.ToLower(rel), func(r rune) bool { return r < 0x80 && blank(byte(r)) }) {
		switch t {
		case "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest", "preload", "modulepreload":
			hop = shows
		case "prefetch", "preconnect", "dns-prefetch":
			hint = true
		case "alternate", "author", "bookmark", "canonical", "help", "license", "next", "prev", "privacy-policy", "search", "tag", "terms-of-service",
			"appendix", "chapter", "contents", "copyright", "glossary", "index", "section", "start", "subsection",
			"begin", "end", "first", "home", "last", "parent", "previous", "toc", "top", "up",
			"about", "amphtml", "archives", "collection", "describedby", "item", "latest-version", "original", "predecessor-version", "related",
			"successor-version", "version-history", "via":
			if hop == 0 {
				hop = leads
			}
		}
	}
	if hint && hop == leads {
		return 0
	}
	return hop
}

// refer adds the URL, or the list of images, in one attribute of the tag that was read. If the tag
// does not have the attribute, it does nothing.
func (s *scanner) refer(from *source) {
	if !s.z.has(from.from) || from.hop == shows && !s.z.embeds {
		return
	}
	switch from.from {
	case srcsetName, imagesrcsetName, dataSrcsetName, dataLazySrcsetName:
		for raw := range imageCandidates(s.z.value(from.from)) {
			if !s.add(from.where, from.hop, raw) {
				return
			}
		}
		return
	}
	raw := s.z.raw(from.from)
	if from.hop == shows && (len(raw) == 0 || holdsData(raw)) || !s.room() {
		return
	}
	start := len(s.text)
	s.text = appendValue(s.text, raw)
	s.refs = append(s.refs, ref{where: from.where, hop: from.hop, raw: span{start, len(s.text)}})
	if from.hop == leads && from.from <= xlinkName {
		s.describe(&s.refs[len(s.refs)-1])
	}
}

// describe sets the rel, the language and the text of r, the link whose tag was read.
func (s *scanner) describe(r *ref) {
	r.rel.start = len(s.said)
	s.said = appendValue(s.said, s.z.raw(relName))
	r.rel.end = len(s.said)
	if s.z.has(hreflangName) {
		lang := langOf(s.z.value(hreflangName))
		s.said = append(s.said, lang...)
		r.lang = uint8(len(lang))
	}
	if s.opts.Text && s.z.tag != linkTag {
		s.keepText()
	}
	r.said = uint16(len(s.said) - r.rel.end)
}

// addUTF8 is like add, for a reference whose query is in UTF-8 even if the document is not.
func (s *scanner) addUTF8(where string, hop frontier.Hop, raw string) bool {
	n := len(s.refs)
	ok := s.add(where, hop, raw)
	if len(s.refs) > n {
		s.refs[n].utf8 = true
	}
	return ok
}

// add adds a reference. It returns false if the document has too many.
func (s *scanner) add(where string, hop frontier.Hop, raw string) bool {
	if hop == shows && holdsData(raw) {
		return true
	}
	if !s.room() {
		return false
	}
	start := len(s.text)
	s.text = append(s.text, raw...)
	s.refs = append(s.refs, ref{where: where, hop: hop, raw: span{start, len(s.text)}})
	return true
}

// holdsData reports whether a reference is a data: URL. Such a URL contains the data itself, and is
// often long.
func holdsData[T []byte | string](raw T) bool {
	const scheme = "data:"
	return len(raw) >= len(scheme) && strings.EqualFold(string(raw[:len(scheme)]), scheme)
}

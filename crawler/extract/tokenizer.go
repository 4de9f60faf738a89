package extract

import "bytes"

// A tokenizer finds the tags of an HTML document. It implements the states of HTML, section 13.2.5,
// that decide where a tag begins and ends, and skips everything between tags. A tag whose end is
// missing at the end of the input is not a tag.
type tokenizer struct {
	buf []byte
	pos int // offset of the next byte to read

	// rawText is the name of the element whose raw text follows, or empty. The scanner clears it
	// for elements of SVG and for empty elements of XML.
	rawText string
	// CDATA sections are possible here, because the position is in SVG or MathML
	cdata  bool
	embeds bool // also keep attributes for embedded resources, which any tag may have

	// The fields below describe the tag that was read. Only attributes with a constant of type name
	// are kept.
	tag    tag
	name   value
	attrs  int // offset of the tag's attributes
	set    uint32
	values [nameCount]value
}

// A value is the position in buf of a name, or of the value of an attribute as written.
type value struct{ start, end int }

type tokenKind uint8

const (
	endOfInput tokenKind = iota
	startTag
	endTag
)

type tag uint8

// The tags that the tokenizer distinguishes: tags with links, and tags with raw text.
const (
	otherTag tag = iota
	aTag
	areaTag
	baseTag
	blockquoteTag
	bodyTag
	delTag
	embedTag
	formTag
	frameTag
	iframeTag
	imgTag
	insTag
	linkTag
	mathTag
	metaTag
	objectTag
	qTag
	rawTag // other elements with raw text, such as textarea
	scriptTag
	styleTag
	svgTag
	templateTag
	titleTag

	// These tags are used only if embeds is set.
	audioTag
	feImageTag
	inputTag
	sourceTag
	tableTag
	tbodyTag
	tdTag
	tfootTag
	thTag
	theadTag
	trTag
	trackTag
	useTag
	videoTag
	tagCount
)

// A name is the name of an attribute that the tokenizer keeps.
type name uint8

const (
	hrefName  name = iota
	xlinkName      // xlink:href
	hreflangName
	srcName
	srcsetName
	relName
	nameName
	contentName
	equivName
	charsetName
	propertyName
	typeName
	citeName
	longdescName
	dataName
	actionName
	methodName
	posterName
	backgroundName
	imagesrcsetName
	styleName
	altName
	srcdocName

	// From these attributes scripts load resources later than the page itself.
	dataSrcName
	dataSrcsetName
	dataOriginalName
	dataLazySrcName
	dataLazySrcsetName
	dataPosterName
	dataBgName
	dataBackgroundName // data-background-image
	nameCount
)

// next reads the next tag. It skips comments and declarations.
func (z *tokenizer) next() tokenKind {
	if z.rawText != "" {
		z.readRawText()
	}
	for {
		i := bytes.IndexByte(z.buf[z.pos:], '<')
		if i < 0 || z.pos+i+1 == len(z.buf) {
			return z.end()
		}
		z.pos += i + 1
		if kind, ok := z.readMarkup(); ok {
			return kind
		}
	}
}

// readMarkup reads the markup that begins with the "<" before pos. ok reports whether it is a tag.
func (z *tokenizer) readMarkup() (kind tokenKind, ok bool) {
	if z.pos == len(z.buf) {
		return endOfInput, false
	}
	switch c := z.buf[z.pos]; {
	case letter(c):
		return z.readStartTag(), true
	case c == '!':
		z.pos++
		z.skipDeclaration()
	case c == '?':
		z.skipPast('>')
	case c == '/':
		z.pos++
		if z.pos < len(z.buf) && letter(z.buf[z.pos]) {
			return z.readEndTag(), true
		}
		z.skipPast('>')
	}
	return endOfInput, false
}

func (z *tokenizer) end() tokenKind {
	z.pos = len(z.buf)
	return endOfInput
}

// skipPast moves past the next c, or to the end of the input.
func (z *tokenizer) skipPast(c byte) {
	if i := bytes.IndexByte(z.buf[z.pos:], c); i >= 0 {
		z.pos += i + 1
	} else {
		z.end()
	}
}

// skipDeclaration skips a comment, a document type, a CDATA section, or a malformed declaration.
func (z *tokenizer) skipDeclaration() {
	const cdata = "[CDATA["
	if z.cdata && bytes.HasPrefix(z.buf[z.pos:], []byte(cdata)) {
		z.pos += len(cdata)
		if i := bytes.Index(z.buf[z.pos:], []byte("]]>")); i >= 0 {
			z.pos += i + len("]]>")
		} else {
			z.end()
		}
		return
	}
	if !bytes.HasPrefix(z.buf[z.pos:], []byte("--")) {
		z.skipPast('>')
		return
	}
	z.pos += 2
	comment := z.buf[z.pos:]
	for end := 0; ; end++ {
		i := bytes.IndexByte(comment[end:], '>')
		if i < 0 {
			z.end()
			return
		}
		end += i
		text := comment[:end]
		if len(text) == 0 || string(text) == "-" || bytes.HasSuffix(text, []byte("--")) || bytes.HasSuffix(text, []byte("--!")) {
			z.pos += end + 1
			return
		}
	}
}

func (z *tokenizer) readEndTag() tokenKind {
	z.tag, _ = z.readName()
	if z.skipBlanks(); !z.skipAttributes() {
		return z.end()
	}
	return endTag
}

func (z *tokenizer) readStartTag() tokenKind {
	var raw string
	z.tag, raw = z.readName()
	z.skipBlanks()
	z.attrs = z.pos
	complete := false
	if z.tag >= audioTag && !z.embeds {
		z.tag = otherTag
	}
	if z.tag == otherTag && !z.embeds {
		complete = z.skipAttributes()
	} else {
		complete = z.readAttributes()
	}
	if !complete {
		return z.end()
	}
	z.rawText = raw
	return startTag
}

// readName reads the name of a tag. The result raw is that name if the element has raw text, and ""
// otherwise. The content of noscript and noframes is not raw text here, because this reader runs no
// scripts and shows no frames.
func (z *tokenizer) readName() (t tag, raw string) {
	start := z.pos
	for z.pos < len(z.buf) && !endsName[z.buf[z.pos]] {
		z.pos++
	}
	z.name = value{start, z.pos}
	var lower [len("blockquote")]byte
	n := z.pos - start
	if n > len(lower) {
		return otherTag, ""
	}
	for i, c := range z.buf[start:z.pos] {
		lower[i] = c | 0x20 // the names in the switch below have only letters
	}
	switch string(lower[:n]) {
	case "a":
		return aTag, ""
	case "area":
		return areaTag, ""
	case "audio":
		return audioTag, ""
	case "base":
		return baseTag, ""
	case "blockquote":
		return blockquoteTag, ""
	case "body":
		return bodyTag, ""
	case "del":
		return delTag, ""
	case "embed":
		return embedTag, ""
	case "feimage":
		return feImageTag, ""
	case "form":
		return formTag, ""
	case "frame":
		return frameTag, ""
	case "iframe":
		return iframeTag, "iframe"
	case "img", "image":
		return imgTag, ""
	case "input":
		return inputTag, ""
	case "ins":
		return insTag, ""
	case "link":
		return linkTag, ""
	case "math":
		return mathTag, ""
	case "meta":
		return metaTag, ""
	case "noembed":
		return rawTag, "noembed"
	case "object":
		return objectTag, ""
	case "plaintext":
		return rawTag, "plaintext"
	case "q":
		return qTag, ""
	case "script":
		return scriptTag, "script"
	case "source":
		return sourceTag, ""
	case "style":
		return styleTag, "style"
	case "svg":
		return svgTag, ""
	case "table":
		return tableTag, ""
	case "tbody":
		return tbodyTag, ""
	case "td":
		return tdTag, ""
	case "template":
		return templateTag, ""
	case "textarea":
		return rawTag, "textarea"
	case "tfoot":
		return tfootTag, ""
	case "th":
		return thTag, ""
	case "thead":
		return theadTag, ""
	case "title":
		return titleTag, "title"
	case "tr":
		return trTag, ""
	case "track":
		return trackTag, ""
	case "use":
		return useTag, ""
	case "video":
		return videoTag, ""
	case "xmp":
		return rawTag, "xmp"
	}
	return otherTag, ""
}

// skipAttributes moves past the end of a tag. It returns false if the input ends first.
func (z *tokenizer) skipAttributes() bool {
	for z.pos < len(z.buf) {
		if z.buf[z.pos] == '>' {
			z.pos++
			return true
		}
		z.readAttribute()
		z.skipBlanks()
	}
	return false
}

// readAttributes is like skipAttributes, but stores the attributes that have a constant of type
// name. If an attribute is repeated, the first one is stored.
func (z *tokenizer) readAttributes() bool {
	z.set = 0
	for z.pos < len(z.buf) {
		if z.buf[z.pos] == '>' {
			z.pos++
			return true
		}
		key, v, _ := z.readAttribute()
		if n := nameOf(key); n < nameCount && z.set&(1<<n) == 0 {
			z.set |= 1 << n
			z.values[n] = v
		}
		z.skipBlanks()
	}
	return false
}

func nameOf(key []byte) name {
	var lower [len("data-background-image")]byte
	if len(key) < len("rel") || len(key) > len(lower) {
		return nameCount
	}
	if hasUpper(key) {
		key = lower[:copy(lower[:], key)]
		for i, c := range key {
			if 'A' <= c && c <= 'Z' {
				key[i] = c | 0x20
			}
		}
	}
	switch string(key) {
	case "href":
		return hrefName
	case "hreflang":
		return hreflangName
	case "xlink:href":
		return xlinkName
	case "src":
		return srcName
	case "srcset":
		return srcsetName
	case "rel":
		return relName
	case "name":
		return nameName
	case "content":
		return contentName
	case "http-equiv":
		return equivName
	case "charset":
		return charsetName
	case "property":
		return propertyName
	case "type":
		return typeName
	case "cite":
		return citeName
	case "longdesc":
		return longdescName
	case "data":
		return dataName
	case "action":
		return actionName
	case "method":
		return methodName
	case "poster":
		return posterName
	case "background":
		return backgroundName
	case "imagesrcset":
		return imagesrcsetName
	case "style":
		return styleName
	case "alt":
		return altName
	case "srcdoc":
		return srcdocName
	case "data-src":
		return dataSrcName
	case "data-srcset":
		return dataSrcsetName
	case "data-original":
		return dataOriginalName
	case "data-lazy-src":
		return dataLazySrcName
	case "data-lazy-srcset":
		return dataLazySrcsetName
	case "data-poster":
		return dataPosterName
	case "data-bg":
		return dataBgName
	case "data-background-image":
		return dataBackgroundName
	}
	return nameCount
}

// readAttribute reads an attribute. A slash between attributes is returned as an attribute without
// a name.
func (z *tokenizer) readAttribute() (key []byte, v value, quoted bool) {
	buf, i := z.buf, z.pos
	start := i
	if buf[i] == '=' {
		i++ // an equals sign at the start of a name belongs to the name
	}
	for i < len(buf) && !endsKey[buf[i]] {
		i++
	}
	key = buf[start:i]
	z.pos = i
	z.skipBlanks()
	i = z.pos
	if i == len(buf) {
		return key, v, false
	}
	if buf[i] != '=' {
		if buf[i] == '/' {
			z.pos++
		}
		return key, v, false
	}
	z.pos++
	z.skipBlanks()
	i = z.pos
	if i == len(buf) || buf[i] == '>' {
		return key, v, false
	}
	if c := buf[i]; c == '"' || c == '\'' {
		i++
		end := bytes.IndexByte(buf[i:], c)
		if end < 0 {
			z.end()
			return key, value{i, len(buf)}, true
		}
		z.pos = i + end + 1
		return key, value{i, i + end}, true
	}
	start = i
	for i < len(buf) && !endsValue[buf[i]] {
		i++
	}
	z.pos = i
	return key, value{start, i}, false
}

func (z *tokenizer) skipBlanks() {
	for z.pos < len(z.buf) && blank(z.buf[z.pos]) {
		z.pos++
	}
}

// has reports whether the tag that was read has the attribute n.
func (z *tokenizer) has(n name) bool { return z.set&(1<<n) != 0 }

// raw returns the value of the attribute n as written, or nil if the tag does not have it.
func (z *tokenizer) raw(n name) []byte {
	if !z.has(n) {
		return nil
	}
	v := z.values[n]
	return z.buf[v.start:v.end]
}

// value returns the decoded value of the attribute n, or "" if the tag does not have it.
func (z *tokenizer) value(n name) string { return decodeValue(z.raw(n)) }

// selfClosing reports whether the start tag that was read ends with a slash, other than a slash at
// the end of a value.
func (z *tokenizer) selfClosing() bool {
	end := z.pos
	if z.buf[end-2] != '/' {
		return false
	}
	defer func() { z.pos = end }()
	value := 0 // end offset of the last value if it has no quotes; otherwise 0
	for z.pos = z.attrs; z.pos < end-1; z.skipBlanks() {
		value = 0
		if _, v, quoted := z.readAttribute(); !quoted {
			value = v.end
		}
	}
	return value != end-1
}

func equalLower(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x != y && (x^y != 0x20 || !letter(x)) {
			return false
		}
	}
	return true
}

func hasUpper(text []byte) bool {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }

var (
	endsValue = newByteSet(" \n\r\t\f>")
	endsName  = newByteSet(" \n\r\t\f>/")
	endsKey   = newByteSet(" \n\r\t\f>/=")
)

func newByteSet(bytes string) (set [256]bool) {
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return set
}

package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// An xmlScanner finds the tags of an XML document, and the text of some of its elements, in bounded
// memory. It is lenient, because these documents are often written by hand or by joining strings.
// It refuses nothing, ignores the case of names, and accepts unbalanced documents. An ampersand
// that begins no reference is an ordinary character. It ignores declarations of entities, and loads
// no external entity.
type xmlScanner struct {
	r          *bufio.Reader
	err        error // error of the reader, except io.EOF
	eof        bool
	run        []byte // text that was read but not decoded yet
	text       []byte // decoded text since collect was called
	collecting bool
	tooLong    bool // the text was longer than maxXMLText
	tag        []byte

	// The fields below describe the tag that was read.
	prefix, name string // in lower case
	attrs        []xmlAttr
	selfClosing  bool // the tag is <x/>, so next returns its end, too
	repeatEnd    bool // next must return the last end tag once more

	depth int // number of open elements
	bases []xmlBase
}

type xmlAttr struct{ prefix, name, value string }

// An xmlBase is the base URL for an element with xml:base, and for the elements inside it.
type xmlBase struct {
	depth int
	url   frontier.URL
}

// Limits of the bytes of one text and of one tag, and of the number of nested base URLs. The
// longest URL fits into a text or a tag, even if it is escaped.
const (
	// Package frontier refuses URLs of more than 8,000 bytes, and an escape makes a byte up to 8
	// bytes long.
	maxXMLText  = 8 * 8000
	maxXMLBases = 64
)

type xmlToken uint8

const (
	xmlEOF xmlToken = iota
	xmlStart
	xmlEnd
)

// newXMLScanner returns a scanner for a document in UTF-8. References in the document are relative
// to base.
func newXMLScanner(r io.Reader, base frontier.URL) *xmlScanner {
	return &xmlScanner{r: bufio.NewReaderSize(r, bufferSize), bases: []xmlBase{{url: base}}}
}

// next reads the next tag.
func (x *xmlScanner) next() xmlToken {
	if x.selfClosing {
		x.selfClosing = false
		return x.end()
	}
	if x.repeatEnd {
		x.repeatEnd = false
		return xmlEnd
	}
	for {
		x.readText()
		if x.eof {
			return xmlEOF
		}
		head, _ := x.r.Peek(len("![CDATA["))
		switch {
		case bytes.HasPrefix(head, []byte("!--")):
			x.r.Discard(len("!--"))
			x.skipPast("-->", false)
		case bytes.EqualFold(head, []byte("![CDATA[")):
			x.r.Discard(len(head))
			x.skipPast("]]>", true)
			x.flush(false)
		case bytes.HasPrefix(head, []byte("!")):
			x.skipDoctype()
		case bytes.HasPrefix(head, []byte("?")):
			x.skipPast("?>", false)
		case len(head) > 1 && head[0] == '/' && startsXMLName(head[1]):
			x.r.Discard(1)
			if x.readTag() {
				x.selfClosing = false
				return x.end()
			}
		case len(head) > 0 && startsXMLName(head[0]):
			if x.readTag() {
				x.start()
				return xmlStart
			}
		default:
			x.keep('<')
			x.flush(false)
		}
	}
}

func startsXMLName(c byte) bool { return letter(c) || c == '_' || c == ':' || c >= 0x80 }

// collect begins to collect text. The method collected returns it.
func (x *xmlScanner) collect() {
	x.text, x.collecting, x.tooLong = x.text[:0], true, false
}

// collected returns the text since collect was called, without white space at its ends. It returns
// false if the text was longer than maxXMLText.
func (x *xmlScanner) collected() (string, bool) {
	x.collecting = false
	return strings.Trim(string(x.text), blanks), !x.tooLong
}

// readText reads text up to the next '<', and that '<'.
func (x *xmlScanner) readText() {
	for {
		part, err := x.r.ReadSlice('<')
		if err == nil {
			part = part[:len(part)-1]
		}
		x.keep(part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			x.stop(err)
			break
		}
	}
	x.flush(true)
}

// flush adds x.run to x.text. If references is true, it decodes the character references in x.run.
// In a CDATA section there are none.
func (x *xmlScanner) flush(references bool) {
	if x.collecting && len(x.run) > 0 {
		if references {
			x.text = append(x.text, decodeValue(x.run)...)
		} else {
			x.text = append(x.text, x.run...)
		}
	}
	x.run = x.run[:0]
}

// keep appends part to x.run. It does nothing if no text is being collected, or if the text would
// be too long.
func (x *xmlScanner) keep(part ...byte) {
	if !x.collecting || len(part) == 0 {
		return
	}
	if len(x.text)+len(x.run)+len(part) > maxXMLText {
		x.tooLong = true
		return
	}
	x.run = append(x.run, part...)
}

func (x *xmlScanner) stop(err error) {
	x.eof = true
	if !errors.Is(err, io.EOF) {
		x.err = err
	}
}

// readByte returns the next byte, or false at the end of the input.
func (x *xmlScanner) readByte() (byte, bool) {
	c, err := x.r.ReadByte()
	if err != nil {
		x.stop(err)
		return 0, false
	}
	return c, true
}

// skipPast moves past the next occurrence of end. If text is true, it keeps the bytes before end as
// text.
func (x *xmlScanner) skipPast(end string, text bool) {
	var last uint32
	var want uint32
	for i := range len(end) {
		want = want<<8 | uint32(end[i])
	}
	mask := uint32(1)<<(8*len(end)) - 1
	for last&mask != want {
		c, ok := x.readByte()
		if !ok {
			return
		}
		last = last<<8 | uint32(c)
		if text {
			x.keep(c)
		}
	}
	if text {
		x.run = bytes.TrimSuffix(x.run, []byte(end))
	}
}

// skipDoctype skips a declaration. It also skips the declarations in brackets that it may contain,
// because entities are never replaced.
func (x *xmlScanner) skipDoctype() {
	inside, closed := false, false
	for {
		c, ok := x.readByte()
		switch {
		case !ok, c == '>' && (!inside || closed):
			return
		case c == '[':
			inside = true
		case !isBlank(c):
			closed = c == ']'
		}
	}
}

// readTag reads a tag up to its closing bracket. It returns false if the input ends first.
func (x *xmlScanner) readTag() bool {
	x.tag = x.tag[:0]
	// quote is the open quote, or 0; last is the last byte that is not white space
	quote, last := byte(0), byte(0)
	for {
		c, ok := x.readByte()
		switch {
		case !ok:
			return false
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			x.selfClosing = last == '/'
			x.readName()
			return true
		case last == '=' && (c == '"' || c == '\''):
			quote = c
		}
		if !isBlank(c) {
			last = c
		}
		if len(x.tag) < maxXMLText {
			x.tag = append(x.tag, c)
		}
	}
}

// readName parses the name of the tag that was read.
func (x *xmlScanner) readName() {
	end := bytes.IndexAny(x.tag, blanks+"/")
	if end < 0 {
		end = len(x.tag)
	}
	x.prefix, x.name = xmlName(x.tag[:end])
	x.tag = x.tag[end:]
	x.attrs = x.attrs[:0]
}

// xmlName splits a name into its prefix and the rest, both in lower case. A colon at the beginning
// or the end of a name separates no prefix.
func xmlName(raw []byte) (prefix, local string) {
	name := strings.ToLower(string(raw))
	if i := strings.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// readAttrs parses the attributes of the start tag that was read.
func (x *xmlScanner) readAttrs() {
	const most = 64
	rest := x.tag
	for len(x.attrs) < most {
		rest = bytes.TrimLeft(rest, blanks+"/")
		end := bytes.IndexAny(rest, blanks+"=")
		if end <= 0 {
			return
		}
		var a xmlAttr
		a.prefix, a.name = xmlName(rest[:end])
		rest = bytes.TrimLeft(rest[end:], blanks)
		if len(rest) == 0 || rest[0] != '=' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], blanks)
		if len(rest) == 0 {
			return
		}
		var value []byte
		if quote := rest[0]; quote == '"' || quote == '\'' {
			end = bytes.IndexByte(rest[1:], quote)
			if end < 0 {
				return
			}
			value, rest = rest[1:1+end], rest[end+2:]
		} else {
			if end = bytes.IndexAny(rest, blanks); end < 0 {
				end = len(rest)
			}
			value, rest = rest[:end], rest[end:]
		}
		a.value = strings.Trim(decodeValue(value), blanks)
		x.attrs = append(x.attrs, a)
	}
}

// attr returns the value of the attribute with that name and any prefix, or "".
func (x *xmlScanner) attr(name string) string {
	for _, a := range x.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

func (x *xmlScanner) start() {
	x.readAttrs()
	x.depth++
	for _, a := range x.attrs {
		if a.prefix == "xml" && a.name == "base" && len(x.bases) < maxXMLBases {
			if u, err := x.base().Resolve(a.value); err == nil {
				x.bases = append(x.bases, xmlBase{x.depth, u})
			}
			return
		}
	}
}

func (x *xmlScanner) end() xmlToken {
	if n := len(x.bases); n > 1 && x.bases[n-1].depth >= x.depth {
		x.bases = x.bases[:n-1]
	}
	x.depth = max(0, x.depth-1)
	return xmlEnd
}

// base returns the base URL for references at the current position (XML Base, section 4).
func (x *xmlScanner) base() frontier.URL { return x.bases[len(x.bases)-1].url }

// skip moves past the end of the element that was opened last. If its end tag is missing, skip
// stops before the end of the first outer element whose name is in holders.
func (x *xmlScanner) skip(holders ...string) {
	name, open, inside := x.name, 1, 0
	for open > 0 {
		step := 1
		switch x.next() {
		case xmlEOF:
			return
		case xmlEnd:
			step = -1
		}
		switch {
		case x.name == name:
			open += step
		case slices.Contains(holders, x.name):
			if inside += step; inside < 0 {
				x.repeatEnd = true
				return
			}
		}
	}
}

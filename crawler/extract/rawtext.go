package extract

import "bytes"

// readRawText reads the text content of the element z.rawText, up to its end tag or the end of the
// input. It returns that text.
func (z *tokenizer) readRawText() []byte {
	start := z.pos
	element := z.rawText
	z.rawText = ""
	switch element {
	case "":
	case "plaintext":
		z.end()
	case "script":
		z.skipScript()
	default:
		for {
			i := bytes.IndexByte(z.buf[z.pos:], '<')
			if i < 0 {
				z.end()
				break
			}
			z.pos += i
			if z.atEndTag(element) {
				break
			}
			z.pos++
		}
	}
	return z.buf[start:z.pos]
}

// atEndTag reports whether the end tag of element begins at z.pos.
func (z *tokenizer) atEndTag(element string) bool {
	rest := z.buf[z.pos:]
	n := len("</") + len(element)
	return len(rest) > n && rest[1] == '/' && equalLower(rest[2:n], []byte(element)) && endsName[rest[n]]
}

// skipScript moves to the end tag of a script. Between "<!--" and "-->" a script may contain
// a script element (HTML, sections 13.2.5.15 to 13.2.5.31).
func (z *tokenizer) skipScript() {
	const element = "script"
	for {
		i := bytes.IndexByte(z.buf[z.pos:], '<')
		if i < 0 {
			z.end()
			return
		}
		z.pos += i
		if z.atEndTag(element) {
			return
		}
		if !bytes.HasPrefix(z.buf[z.pos:], []byte("<!--")) {
			z.pos++
			continue
		}
		z.pos += len("<!--")
		if z.skipEscapedScript(element) {
			return
		}
	}
}

// skipEscapedScript is like skipScript, but for the part of a script after "<!--". It returns true
// at the end tag of the script. It returns false after "-->", or at the end of the input.
func (z *tokenizer) skipEscapedScript(element string) bool {
	// dashes is the number of dashes before pos; inner reports whether pos is in a script inside
	// the script
	dashes, inner := 2, false
	for z.pos < len(z.buf) {
		c := z.buf[z.pos]
		switch {
		case c == '-':
			dashes++
			z.pos++
			continue
		case c == '>' && dashes >= 2:
			return false
		case c != '<':
			z.pos++
		case inner:
			inner = !z.atEndTag(element)
			z.pos++
		case z.atEndTag(element):
			return true
		default:
			z.pos++
			n := z.pos + len(element)
			inner = n < len(z.buf) && equalLower(z.buf[z.pos:n], []byte(element)) && endsName[z.buf[n]]
		}
		dashes = 0
	}
	return false
}

package robots

import "strings"

// parseDictionary parses s as a dictionary (RFC 9651, 4.2.2). It calls visit for each member, with
// the key and the value. The value is "" if it is not a token. parseDictionary reports whether the
// whole of s is a dictionary.
func parseDictionary(s string, visit func(key, token string)) bool {
	p := fieldParser{s: strings.Trim(s, " ")}
	for p.s != "" {
		key, ok := p.key()
		if !ok {
			return false
		}
		token := ""
		if p.take('=') {
			if token, ok = p.member(); !ok {
				return false
			}
		}
		if !p.parameters() {
			return false
		}
		visit(key, token)
		p.s = strings.TrimLeft(p.s, " \t")
		if p.s == "" {
			return true
		}
		if !p.take(',') {
			return false
		}
		if p.s = strings.TrimLeft(p.s, " \t"); p.s == "" {
			return false // s ends with a comma
		}
	}
	return true
}

// fieldParser parses a structured field (RFC 9651). Its field s is the text that is not parsed
// yet.
type fieldParser struct{ s string }

func (p *fieldParser) take(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

// while removes from p.s the longest prefix whose octets satisfy ok, and returns the prefix.
func (p *fieldParser) while(ok func(c byte) bool) string {
	i := 0
	for i < len(p.s) && ok(p.s[i]) {
		i++
	}
	taken := p.s[:i]
	p.s = p.s[i:]
	return taken
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func (p *fieldParser) key() (string, bool) {
	if p.s == "" || !isLower(p.s[0]) && p.s[0] != '*' {
		return "", false
	}
	return p.while(func(c byte) bool {
		return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0
	}), true
}

func (p *fieldParser) parameters() bool {
	for p.take(';') {
		p.s = strings.TrimLeft(p.s, " ")
		if _, ok := p.key(); !ok {
			return false
		}
		if p.take('=') {
			if _, ok := p.item(); !ok {
				return false
			}
		}
	}
	return true
}

// member reads an item or an inner list (RFC 9651). It returns the item if it is a token, and
// "" for any other item and for a list. ok is false if the syntax is wrong.
func (p *fieldParser) member() (token string, ok bool) {
	if !p.take('(') {
		return p.item()
	}
	for {
		p.s = strings.TrimLeft(p.s, " ")
		if p.take(')') {
			return "", true
		}
		if _, ok := p.item(); !ok || !p.parameters() {
			return "", false
		}
		if p.s == "" || p.s[0] != ' ' && p.s[0] != ')' {
			return "", false
		}
	}
}

// item reads a bare item (RFC 9651). It returns the item if it is a token, and "" for any other
// item. ok is false if the syntax is wrong.
func (p *fieldParser) item() (token string, ok bool) {
	if p.s == "" {
		return "", false
	}
	switch c := p.s[0]; {
	case isAlpha(c) || c == '*':
		return p.while(func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		}), true
	case c == '-' || isDigit(c):
		return "", p.number(true)
	case c == '@':
		p.s = p.s[1:]
		return "", p.number(false)
	case c == '?':
		p.s = p.s[1:]
		return "", p.take('0') || p.take('1')
	case c == '"':
		return "", p.quoted()
	case c == '%':
		p.s = p.s[1:]
		return "", p.display()
	case c == ':':
		p.s = p.s[1:]
		p.while(func(c byte) bool { return isAlpha(c) || isDigit(c) || c == '+' || c == '/' || c == '=' })
		return "", p.take(':')
	}
	return "", false
}

func (p *fieldParser) number(decimal bool) bool {
	p.take('-')
	n := len(p.while(isDigit))
	if n == 0 || n > 15 {
		return false
	}
	if decimal && p.take('.') {
		f := len(p.while(isDigit))
		return n <= 12 && 1 <= f && f <= 3
	}
	return true
}

func (p *fieldParser) quoted() bool {
	for i := 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.s = p.s[i+1:]
			return true
		case c == '\\':
			if i++; i == len(p.s) || p.s[i] != '"' && p.s[i] != '\\' {
				return false
			}
		case c < ' ' || c > '~':
			return false
		}
	}
	return false
}

func (p *fieldParser) display() bool {
	if !p.take('"') {
		return false
	}
	for i := 0; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.s = p.s[i+1:]
			return true
		case c < ' ' || c > '~':
			return false
		case c == '%':
			if _, ok := escapeAt(p.s, i); !ok {
				return false
			}
			i += 2
		}
	}
	return false
}

package robots

import (
	"fmt"
	"strings"
)

// A tokenError reports a string that cannot be a product token, so no robots.txt group can name
// it.
type tokenError struct {
	Token   string
	Dialect Dialect // dialect in which the token is not valid
}

// Error returns the token, the first character of it that is not valid, and the characters that
// are valid.
func (e *tokenError) Error() string {
	if e.Token == "" {
		return "robots: empty product token: want letters a-z A-Z, hyphens and underscores, such as \"examplebot\""
	}
	good, want := len(tokenOf(e.Token)), "want only letters a-z A-Z, hyphens and underscores, no digits, blanks or version"
	if e.Dialect == Koster1996 {
		good, want = len(kosterToken(e.Token)), "want only visible ASCII, no blanks, version or ()<>@,;:\\\"/[]?={}"
	}
	for _, r := range e.Token[good:] {
		return fmt.Sprintf("robots: product token %q has %q: %s", e.Token, r, want)
	}
	return fmt.Sprintf("robots: bad product token %q", e.Token)
}

// CheckToken returns nil if token can name a crawler in a User-agent line, and an error
// otherwise. A product token consists only of the letters a-z and A-Z, hyphens and underscores
// (RFC 9309, 2.2.1). Parsers cut the value at the first other character, so a token with a
// digit would be read as the token of another crawler.
func CheckToken(token string) error { return RFC9309.CheckToken(token) }

// CheckToken is like the function CheckToken, for dialect d. Dialect Koster1996 accepts the tokens
// of HTTP/1.0, which may have digits (draft of 1996, 3.3; RFC 1945, 2.2). The other dialects
// accept the tokens of RFC 9309.
func (d Dialect) CheckToken(token string) error {
	good := tokenOf(token)
	if d == Koster1996 {
		good = kosterToken(token)
	}
	if token == "" || len(good) != len(token) {
		return &tokenError{Token: token, Dialect: d}
	}
	return nil
}

// kosterToken returns the token of RFC 1945 that s begins with.
func kosterToken(s string) string {
	i := 0
	for i < len(s) && s[i] > ' ' && s[i] < 0x7F && strings.IndexByte("()<>@,;:\\\"/[]?={}", s[i]) < 0 {
		i++
	}
	return s[:i]
}

// tokenOf returns the product token that s begins with. Site owners write "bot/1.2", "bot*" or
// "bot 1.2" for the token "bot".
func tokenOf(s string) string {
	i := 0
	for i < len(s) && (isAlpha(s[i]) || s[i] == '-' || s[i] == '_') {
		i++
	}
	return s[:i]
}

// isStar reports whether the value of a User-agent line names every crawler:
// "*", alone or followed by white space and any text.
func isStar(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || isSpace(value[1]))
}

// equalFold reports whether a and b are equal if the case of ASCII letters is ignored. Unlike
// strings.EqualFold, it does not treat the Kelvin sign as a k.
func equalFold(a, b string) bool {
	return len(a) == len(b) && hasPrefixFold(a, b)
}

func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		if lower(s[i]) != lower(prefix[i]) {
			return false
		}
	}
	return true
}

// containsFold reports whether s contains sub, ignoring the case of ASCII letters.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if hasPrefixFold(s[i:], sub) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

func isAlpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }

// isSpace reports whether c is ASCII white space, including line ends.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// trim returns s without ASCII white space at both ends.
func trim(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

package robots

import "strings"

// LicenseChallenge reads the WWW-Authenticate fields of an answer, one element for each
// field line (RFC 9110, section 11.6.1), and reports whether one of their challenges is
// License: the answer is given to who has bought a license and shows a token of it (RSL
// 1.0, Crawler Authorization Protocol). code is its error parameter, such as
// "invalid_request"; empty without one, and where it is no such word.
func LicenseChallenge(values []string) (code string, asked bool) {
	for _, value := range values {
		ours := false
		for value != "" {
			var element string
			element, value = nextElement(value)
			scheme, parameter, _ := strings.Cut(element, " ")
			parameter = trim(parameter)
			if !strings.Contains(scheme, "=") && !strings.HasPrefix(parameter, "=") { // or it belongs to the scheme before
				ours = equalFold(scheme, "License")
				asked = asked || ours
				element = parameter
			}
			name, text, _ := strings.Cut(element, "=")
			if ours && code == "" && equalFold(trim(name), "error") {
				code = errorCode(text)
			}
		}
	}
	return code, asked
}

// nextElement takes one element from the beginning of a list, and returns what is behind
// its comma. One in quotes ends none.
func nextElement(list string) (element, rest string) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return trim(list[:i]), list[i+1:]
		}
	}
	return trim(list), ""
}

// maxErrorCode is how long an error code may be that is told of.
const maxErrorCode = 64

// errorCode is the word of an error parameter (RFC 6750, section 3); empty if it is none.
func errorCode(text string) string {
	text = strings.Trim(trim(text), `"`)
	if len(text) > maxErrorCode {
		return ""
	}
	for i := range len(text) {
		if c := text[i] | 0x20; text[i] != '_' && text[i] != '-' && (c < 'a' || c > 'z') && (text[i] < '0' || text[i] > '9') {
			return ""
		}
	}
	return text
}

package robots

import "strings"

// LicenseChallenge reads the WWW-Authenticate fields of an answer. Each element of values is the
// value of one field line. asked is true if one of them has a challenge with the scheme License
// (RFC 9110, section 11.6.1): the server wants the token of a bought license (RSL 1.0, Crawler
// Authorization Protocol). code is the error parameter of this challenge, such as
// "invalid_request", or empty if the challenge has no valid error code.
func LicenseChallenge(values []string) (code string, asked bool) {
	for _, value := range values {
		ours := false
		for value != "" {
			var element string
			element, value = nextElement(value)
			scheme, parameter, _ := strings.Cut(element, " ")
			parameter = trim(parameter)
			if !strings.Contains(scheme, "=") && !strings.HasPrefix(parameter, "=") { // otherwise the element is a parameter of the previous scheme
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

// nextElement returns the first element of a comma-separated list, and the text after its
// comma. A comma inside quotes does not end an element.
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

// maxErrorCode is the length, in octets, of the longest error code that is returned.
const maxErrorCode = 64

// errorCode returns the error code in text, which is the value of an error parameter (RFC 6750,
// section 3). It returns "" if text is too long or is not a code.
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

package robots

import (
	"strings"
	"testing"
)

// A field may contain other challenges besides the License challenge. A quoted text, or a
// parameter of another scheme, is not a challenge.
func TestLicenseChallenge(t *testing.T) {
	for _, test := range []struct {
		fields string // field lines, separated by line ends
		code   string
		asked  bool
	}{
		{"License", "", true},
		{" license ", "", true},
		{`License error="invalid_request", error_description="get one, License please"`, "invalid_request", true},
		{`License realm="x", error = invalid_token`, "invalid_token", true},
		{`License error=insufficient-scope2`, "insufficient-scope2", true},
		{`Bearer realm="a", error="invalid_token", License`, "", true},
		{`Bearer realm="a", License error="one", Basic error="two"`, "one", true},
		{"Basic realm=x\nLicense error=late", "late", true},
		{"License, License error=later", "later", true},
		{`License error="no words"`, "", true},
		{"License error=" + strings.Repeat("x", 64), strings.Repeat("x", 64), true},
		{"License error=" + strings.Repeat("x", 65), "", true},
		{`License error=a\"b`, "", true},
		{"Licenses", "", false},
		{"License=1", "", false},
		{`Bearer license="x"`, "", false},
		{`Basic realm="a, License error=x"`, "", false},
		{`Basic realm="a\", License"`, "", false},
		{"Bearer error=x", "", false},
		{"Negotiate abc==", "", false},
		{"", "", false},
		{",, ,", "", false},
	} {
		code, asked := LicenseChallenge(strings.Split(test.fields, "\n"))
		if code != test.code || asked != test.asked {
			t.Errorf("%q: %q, %v, want %q, %v", test.fields, code, asked, test.code, test.asked)
		}
	}
}

// For any field the code is a short word, and without a challenge it is empty.
func FuzzLicenseChallenge(f *testing.F) {
	for _, seed := range []string{`License error="a"`, `Bearer a=b, License error=c`, `"\`, "License =", "a =b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		code, asked := LicenseChallenge([]string{field})
		if len(code) > maxErrorCode || !asked && code != "" || strings.ContainsAny(code, " \"\\,;\n\x00") {
			t.Errorf("%q: %q, %v", field, code, asked)
		}
		if asked && !strings.Contains(strings.ToLower(field), "license") {
			t.Errorf("%q asks for a license", field)
		}
	})
}

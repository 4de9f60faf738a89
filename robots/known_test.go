package robots

import (
	"strings"
	"testing"
)

// Every name in the table is a valid product token.
func TestKnownTokensAreTokens(t *testing.T) {
	for _, k := range knownTokens {
		for name := range strings.FieldsSeq(k.tokens) {
			if err := CheckToken(name); err != nil {
				t.Errorf("%s: %v", k.owner, err)
			}
		}
	}
}

func TestKnownToken(t *testing.T) {
	for token, want := range map[string]string{
		"Googlebot":       "Google",
		"gOOGLEbOT":       "Google",
		"bingbot":         "Microsoft Bing",
		"GPTBot":          "OpenAI",
		"CCBot":           "Common Crawl",
		"archive_org_bot": "Internet Archive",
		"AhrefsBot":       "Ahrefs",
		"Mozilla":         "a browser",
		"curl":            "an HTTP library or program",
	} {
		if owner, known := KnownToken(token); !known || owner != want {
			t.Errorf("KnownToken(%q) = %q, %v, want %q", token, owner, known, want)
		}
	}
	for _, token := range []string{"", "wrenbot", "examplebot", "permesso", "Googlebo", "titlebot"} {
		if owner, known := KnownToken(token); known {
			t.Errorf("KnownToken(%q) = %q", token, owner)
		}
	}
}

package diff

import "testing"

func TestTheTextIsWhatReadersSee(t *testing.T) {
	for page, want := range map[string]string{
		"":                         "",
		" \n a\t\u00a0b ":          "a b",
		"<title>T</title><p>a<p>b": "T a b",
		"w<b>or</b>d<br>next":      "word next",
		"<script>var a = '<p>';</script>a<style>p{}</style><!-- c --><noscript>n</noscript><template>x<p>y</template>b": "a b",
		"a &amp; b&nbsp;c":                             "a & b c",
		"</script>a</style>b":                          "a b",
		"<textarea>kept</textarea><iframe>no</iframe>": "kept",
		"<p>\xff\xfe<p>":                               "\xff\xfe",
	} {
		if got := string(folded(visible([]byte(page)))); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

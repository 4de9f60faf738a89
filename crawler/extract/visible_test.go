package extract_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler/extract"
)

func textDigestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// The digest of a page is the digest of its visible text.
func TestATextDigestIsOfWhatReadersSee(t *testing.T) {
	for _, row := range []struct{ html, text string }{
		{"", ""},
		{"a", "a"},
		{"  a \n\t b&nbsp;&nbsp;c ", "a b c"},
		{"<p>a</p><p>b</p>", "a b"},
		{"<b>a</b>b", "ab"},
		{"a<br>b", "a b"},
		{"a &lt;b&gt; &amp; c", "a <b> & c"},
		{"a < b", "a < b"},
		{"a<", "a"},
		{"<!-- no -->a<!DOCTYPE x>", "a"},
		{"<html><head><title>no</title><style>no</style><script>no</script></head><body>a</body>", "a"},
		{"<title>no</title>a", "a"},
		{"a<script>if (a<b) { '<p>no</p>' }</script>b", "ab"},
		{"a<SCRIPT><!-- <script>no</script> --></script>b", "ab"},
		{"a<template>no<template>no</template>no</template>b", "ab"},
		{"a<noscript><p>no<img></noscript>b", "a b"},
		{"a<noframes>no</noframes>b", "ab"},
		{"a<iframe>no</iframe>b<noembed>no</noembed>c", "abc"},
		{"a<textarea> b <p> </textarea>", "a b <p>"},
		{"a<xmp><b>c</b></xmp>", "a <b>c</b>"},
		{"a<template/>no</template>b", "ab"},
		{`<img alt="no" title="no">a`, "a"},
		{"<svg><title>no</title><style>no<b>no</style><text>a</text><style/></svg>b", "ab"},
		{"<svg><style>no</svg>b", "b"},
		{"<svg><![CDATA[a<b]]></svg>b", "b"},
		{"</svg>a</template>b", "ab"},
		{"\xff", "\xff"},
	} {
		if got, want := extract.TextDigest([]byte(row.html), "text/html"), textDigestOf(row.text); got != want {
			t.Errorf("%q is not read as %q", row.html, row.text)
		}
	}
	long := strings.Repeat("word ", 10_000)
	if extract.TextDigest([]byte("<p>"+strings.ReplaceAll(long, " ", "\n")), "text/html") != textDigestOf(strings.TrimSpace(long)) {
		t.Error("a long text is read otherwise")
	}
}

// For plain text the digest covers the text. For any other type except HTML it covers the bytes.
func TestATextDigestGoesByTheMediaType(t *testing.T) {
	body := "<p>a</p>  <p>b"
	for media, text := range map[string]string{
		"text/html": "a b", "application/xhtml+xml": "a b", "text/plain": "<p>a</p> <p>b", "text/css": body, "image/png": body, "": body,
	} {
		if extract.TextDigest([]byte(body), media) != textDigestOf(text) {
			t.Errorf("%q: not that of %q", media, text)
		}
	}
}

// Each sequence of white space becomes one space.
func FuzzBlanksOfAText(f *testing.F) {
	for _, seed := range []string{"", " ", "a", "a b", "\ta \r\n\v\f b\u0085c\u00a0d\u2003e\u3000", "\x1c\x85\xa0é\xe2\x80 \xe2\x80\x83\xe3", "\xc2 \x85\xc2\x85", strings.Repeat("ä ö\u2028", 4<<10)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if want := strings.Join(strings.Fields(text), " "); extract.TextDigest([]byte(text), "text/plain") != textDigestOf(want) {
			t.Errorf("%q is not %q", text, want)
		}
	})
}

func BenchmarkTextDigest(b *testing.B) {
	page := []byte(strings.Repeat("<p>Some words of a page, <a href=\"/x\">and a link</a> &amp; <b>more</b> words that stand there.\n", 200))
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		extract.TextDigest(page, "text/html")
	}
}

// Any page has a digest, and white space around the page does not change it.
func FuzzTextDigest(f *testing.F) {
	for _, seed := range []string{"<p>a", "<svg><style>a</svg>", "<template><template></template>a", "<xmp><", "a<![CDATA[b]]>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		is := extract.TextDigest([]byte(body), "text/html")
		if extract.TextDigest([]byte(" \n"+body), "text/html") != is {
			t.Errorf("%q: a blank before it counts", body)
		}
	})
}

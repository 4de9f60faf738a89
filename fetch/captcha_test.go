package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
)

const wall = `<html><head><title>One moment</title><script src="https://www.google.com/recaptcha/api.js" async></script>
<style>body{margin:0}</style></head><body><h1>Are you a robot?</h1><form action="/verify" method="post">
<input type="hidden" name="back" value="/page"><div class="g-recaptcha" data-sitekey="6Lc"></div>
<textarea name="g-recaptcha-response"></textarea><input type="submit" value="Go on"></form></body></html>`

func TestAPageThatIsNothingButACaptcha(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(wall, old, new, 1) }
	for name, tc := range map[string]struct {
		body string
		want bool
	}{
		"a wall":            {wall, true},
		"hCaptcha":          {strings.ReplaceAll(swap("https://www.google.com/recaptcha/api.js", "https://js.hcaptcha.com/1/api.js"), "g-recaptcha", "h-captcha"), true},
		"Turnstile":         {strings.ReplaceAll(swap("https://www.google.com/recaptcha/api.js", "https://challenges.cloudflare.com/turnstile/v0/api.js"), "g-recaptcha", "cf-turnstile"), true},
		"long scripts":      {swap("</style>", "</style><script>"+strings.Repeat("var a = 1;", 1000)+"</script>"), true},
		"a contact form":    {swap("<input type=\"hidden\"", `<input name="mail"><textarea name="message"></textarea><input type="hidden"`), false},
		"a log-in":          {swap("<input type=\"hidden\"", `<input type="password" name="p"><input type="hidden"`), false},
		"a search":          {swap("<form", `<form><input type="search" name="q"></form><form`), false},
		"text":              {swap("<h1>", "<p>"+strings.Repeat("A page that says something. ", 40)+"</p><h1>"), false},
		"a menu":            {swap("<h1>", strings.Repeat(`<a href="/x">x</a>`, 10)+"<h1>"), false},
		"the script alone":  {`<script src="https://www.google.com/recaptcha/api.js"></script><h1>News</h1>`, false},
		"no form":           {strings.NewReplacer("<form", "<div", "</form", "</div").Replace(wall), false},
		"about captchas":    {`<form><input type="submit"></form><p>What is a captcha, and turnstile?</p>`, false},
		"in a style sheet":  {`<style>.g-recaptcha{}</style><form></form>`, false},
		"very long":         {swap("<h1>", "<!--"+strings.Repeat("x", maxCaptcha)+"--><h1>"), false},
		"not HTML, but cut": {"<form><div class=g-recaptcha", false},
	} {
		got := challengeOf(200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, []byte(tc.body), "/page") != ""
		if got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
		if challengeOf(200, http.Header{"Content-Type": {"application/json"}}, []byte(tc.body), "/page") != "" {
			t.Errorf("%s: JSON", name)
		}
	}
}

// A page is a captcha page only up to a number of letters, of links and of bytes.
func TestTheBoundsOfACaptchaPage(t *testing.T) {
	const head, foot = `<form><i class="h-captcha"></i></form>`, "<!-- x -->"
	for name, pages := range map[string][2]string{
		"letters":          {head + strings.Repeat("x", 600), head + strings.Repeat("x", 601)},
		"letters in words": {head + strings.Repeat("xx ", 200), head + strings.Repeat("xx ", 201)},
		"links":            {head + strings.Repeat("<a href=/>x</a>", 5), head + strings.Repeat("<a href=/>x</a>", 6)},
		"links otherwise":  {head + strings.Repeat("<A\thref=/>x</A>", 5), head + strings.Repeat("<A\thref=/>x</A>", 6)},
		"bytes":            {head + "<!--" + strings.Repeat("x", 131072-len(head)-4), head + "<!--" + strings.Repeat("x", 131073-len(head)-4)},
	} {
		if !isCaptcha([]byte(pages[0])) || isCaptcha([]byte(pages[1])) {
			t.Errorf("%s: %t at the bound, %t beyond", name, isCaptcha([]byte(pages[0])), isCaptcha([]byte(pages[1])))
		}
	}
	// A captcha may be marked on any of these elements, beside any of these other elements.
	for _, element := range []string{`<i class="x h-captcha y">`, `<i id=h-captcha>`, `<script src="https://hcaptcha.com/1/api.js"></script>`, `<link href=/captcha.js>`} {
		if !isCaptcha([]byte("<form>" + element)) {
			t.Errorf("%s is not a captcha", element)
		}
	}
	for _, element := range []string{`<i data-x="h-captcha">`, `<i title="h-captcha">`, `<i>h-captcha</i>`, `<!-- class="h-captcha" -->`, `<i class="captcha">`} {
		if isCaptcha([]byte("<form>" + element)) {
			t.Errorf("%s is a captcha", element)
		}
	}
	for element, want := range map[string]bool{
		`<input type=hidden name=x>`: true, `<input type=SUBMIT>`: true, `<input type=button>`: true, `<input type=image>`: true, `<input type=reset>`: true,
		`<input name=x>`: false, `<input type=text name=x>`: false, `<input name=Captcha>`: true, `<input type=radio name=x>`: false,
		`<select name=x></select>`: false, `<textarea name=x></textarea>`: false, `<textarea name=cf-turnstile></textarea>`: true,
		`<textarea name=h-captcha-response></textarea>`: true, `<textarea></textarea>`: false,
	} {
		if got := isCaptcha([]byte(head + element + foot)); got != want {
			t.Errorf("with %s: %t, want %t", element, got, want)
		}
	}
	for _, w := range widgets {
		if !isCaptcha([]byte(`<form><script src="` + w + `"></script>`)) {
			t.Errorf("%s is not a captcha", w)
		}
	}
	// Browsers do not show the text of these elements.
	for _, name := range []string{"script", "style", "title", "noscript", "template"} {
		hidden := "<" + name + ">" + strings.Repeat("x", 601) + "</" + name + ">"
		if !isCaptcha([]byte(head+hidden)) || isCaptcha([]byte(head+hidden+strings.Repeat("x", 601))) {
			t.Errorf("text of %s", name)
		}
	}
	if inner := "<template><p></p>" + strings.Repeat("x", 601) + "</template>"; !isCaptcha([]byte(head + inner)) {
		t.Error("text of an element of a template")
	}
}

func TestARedirectToACaptcha(t *testing.T) {
	for location, want := range map[string]bool{
		"https://example.com/showcaptcha?cc=1&retpath=https%3A//example.com/search%3Ftext%3Dx": true,
		"/errors/validateCaptcha?back=%2Fpage":                                                 true,
		"/captcha?url=/page":                                                                   true,
		"/captcha":                                                                             false,
		"/docs/captcha?lang=en":                                                                false,
		"/search?q=captcha":                                                                    false,
		"/login?next=/page":                                                                    false,
		"/captcha?x=1&to=http://b.example":                                                     true,
		"/captcha?to=page":                                                                     false,
		"/captcha?to=a/page":                                                                   true,
		"/captcha?to=/" + strings.Repeat("x", 16<<10-13):                                       true,
		"/captcha?to=/" + strings.Repeat("x", 16<<10-12):                                       false,
		"":         false,
		"http://[": false,
	} {
		if got := challengeOf(302, http.Header{"Location": {location}}, nil, "/page?x=1") != ""; got != want {
			t.Errorf("%s: %t, want %t", location, got, want)
		}
		for _, status := range []int{200, 299, 400} {
			if challengeOf(status, http.Header{"Location": {location}}, nil, "/page") != "" {
				t.Errorf("%s: %d is no redirect", location, status)
			}
		}
		for _, status := range []int{300, 307, 399} {
			if got := challengeOf(status, http.Header{"Location": {location}}, nil, "/page") != ""; got != want {
				t.Errorf("%s with %d: %t, want %t", location, status, got, want)
			}
		}
	}
}

func TestACaptchaIsARequestForRest(t *testing.T) {
	redirect := "HTTP/1.1 302 Found\r\nLocation: /captcha?back=/page\r\nContent-Length: 0\r\n\r\n"
	for _, answer := range []string{page(wall), redirect} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string { return answer }))}
			res, all := newTour(t, Options{Network: w}).visit("http://a.example/page")
			if x := all[1]; stage(x) != StageChallenge || x.Trouble() != frontier.SiteTrouble || res.Page != nil {
				t.Errorf("stage %q, trouble %v, page %v", stage(x), x.Trouble(), res.Page)
			}
			for _, x := range all {
				if x.URL.Target() != "/robots.txt" && x.URL.Target() != "/page" {
					t.Errorf("%s was requested", fmt.Sprint(x.URL))
				}
			}
		})
	}
}

func BenchmarkNoCaptcha(b *testing.B) {
	body := []byte(strings.Repeat("<p>A page <a href=/x>of its own</a>.</p>\n", 500))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		isCaptcha(body)
	}
}

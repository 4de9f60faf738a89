package fetch

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Limits of a captcha page. A page that contains only a captcha is a challenge (see challenge),
// for a captcha of any maker, even if the status is 200. A page that also has text to read or
// other fields to fill in is not a challenge, because forms for comments and logins have captchas,
// too.
const (
	maxCaptcha      = 128 << 10 // largest size of the page in bytes
	maxCaptchaText  = 600       // largest size of the text on the page in bytes; several blanks count as one
	maxCaptchaLinks = 5         // largest number of links on the page
)

// widgets are texts that occur only on pages with a captcha: a class, the address of a script or
// an attribute. The maker of each captcha documents them.
var widgets = []string{
	"g-recaptcha", "/recaptcha/api.js", "/recaptcha/enterprise.js", // documented at developers.google.com/recaptcha
	"h-captcha", "hcaptcha.com/1/api.js", // documented at docs.hcaptcha.com
	"cf-turnstile", "challenges.cloudflare.com/turnstile", // documented at developers.cloudflare.com/turnstile
	"frc-captcha", "smart-captcha", "smartcaptcha.yandexcloud.net", "captcha.js", "arkoselabs.com", "geetest.com",
}

// widgetParts are substrings of the widgets. Almost no page without a captcha contains one of
// them.
var widgetParts = []string{"captcha", "turnstile", "arkoselabs", "geetest"}

// isCaptcha reports whether an HTML page contains only a captcha: it has a captcha and a form,
// no other field to fill in, and very little text.
func isCaptcha(body []byte) bool {
	// The links are counted first, because the first few hundred bytes of nearly every page
	// have too many links. Searching whole pages for the widgetParts took a sixth of the time
	// of a crawl.
	if len(body) > maxCaptcha || hasMany(body, "<a ", maxCaptchaLinks) || !slices.ContainsFunc(widgetParts, func(m string) bool { return bytes.Contains(body, []byte(m)) }) {
		return false
	}
	var seen struct {
		form, widget bool
		text, links  int
	}
	hidden := "" // name of the open element whose text is not shown; "" if none exists
	z := html.NewTokenizer(bytes.NewReader(body))
	for seen.text <= maxCaptchaText && seen.links <= maxCaptchaLinks {
		kind := z.Next()
		if kind == html.ErrorToken {
			return seen.form && seen.widget
		}
		switch t := z.Token(); {
		case kind == html.EndTagToken && t.Data == hidden:
			hidden = ""
		case kind == html.TextToken && hidden == "":
			seen.text += len(strings.Join(strings.Fields(t.Data), " "))
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			if toFillIn(t) {
				return false
			}
			seen.form = seen.form || t.Data == "form"
			seen.widget = seen.widget || isWidget(t)
			switch t.Data {
			case "a":
				seen.links++
			case "script", "style", "title", "noscript", "template":
				if kind == html.StartTagToken {
					hidden = t.Data
				}
			}
		}
	}
	return false
}

// hasMany reports whether b contains mark more than n times.
func hasMany(b []byte, mark string, n int) bool {
	for ; n >= 0; n-- {
		i := bytes.Index(b, []byte(mark))
		if i < 0 {
			return false
		}
		b = b[i+len(mark):]
	}
	return true
}

// toFillIn reports whether an element is a field that the user has to fill in. The field for
// the answer to the captcha does not count.
func toFillIn(t html.Token) bool {
	switch t.Data {
	case "select":
		return true
	case "textarea":
		return !strings.Contains(attribute(t, "name"), "captcha") && !strings.Contains(attribute(t, "name"), "turnstile")
	case "input":
		switch strings.ToLower(attribute(t, "type")) {
		case "hidden", "submit", "button", "image", "reset":
			return false
		}
		return !strings.Contains(strings.ToLower(attribute(t, "name")), "captcha")
	}
	return false
}

func isWidget(t html.Token) bool {
	for _, a := range t.Attr {
		if a.Key != "class" && a.Key != "src" && a.Key != "id" && a.Key != "href" {
			continue
		}
		for _, w := range widgets {
			if strings.Contains(a.Val, w) {
				return true
			}
		}
	}
	return false
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// leadsToCaptcha reports whether an answer to a request for target is a redirect to a captcha:
// a URL whose path contains "captcha" and whose query contains the URL or path to return to.
func leadsToCaptcha(status int, location, target string) bool {
	if status/100 != 3 || len(location) > 16<<10 {
		return false
	}
	u, err := url.Parse(location)
	if err != nil || !strings.Contains(strings.ToLower(u.Path), "captcha") {
		return false
	}
	path, _, _ := strings.Cut(target, "?")
	for _, values := range u.Query() {
		for _, v := range values {
			if path != "/" && strings.Contains(v, path) || strings.Contains(v, "://") || strings.HasPrefix(v, "/") {
				return true
			}
		}
	}
	return false
}

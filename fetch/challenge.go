package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A challenge describes how to recognize a bot-challenge page of one content delivery network.
// Such a page is sent instead of the requested page and demands a browser or a human. This crawler
// does not solve challenges. When it gets one, it slows down.
//
// The field or text must not occur in ordinary answers. Some fields only name the network
// (X-Iinfo, X-DataDome, Akamai-GRN ...). They are in all answers of the network, so they cannot be
// used. Fields are checked before texts.
type challenge struct {
	network string
	status  []int  // statuses of the challenge; nil: any status. Some challenges have status 200
	field   string // name of the header field that identifies the challenge; or empty
	value   string // value of the field, in any letter case
	text    string // substring of the body; used if field is empty
	most    int    // largest length in bytes of a body that is searched for text, because longer pages only mention it
}

var challenges = []challenge{
	// Source: https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
	{network: "Cloudflare", field: "Cf-Mitigated", value: "challenge"},
	// Source: https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
	{network: "AWS WAF", field: "X-Amzn-Waf-Action", value: "challenge"},
	{network: "AWS WAF", field: "X-Amzn-Waf-Action", value: "captcha"},
	// https://vercel.com/docs/attack-challenge-mode describes the challenge. The field was seen in
	// answers with status 403 and 429.
	{network: "Vercel", field: "X-Vercel-Mitigated", value: "challenge"},

	// These challenges are older than the field Cf-Mitigated above. The script
	// /cdn-cgi/challenge-platform/ does not identify a challenge, because ordinary pages have it,
	// too.
	{network: "Cloudflare", status: []int{403, 429, 503}, text: "_cf_chl_opt", most: 128 << 10},
	// https://docs.datadome.co/reference/validate-request (401 and 403);
	// https://github.com/daijro/camoufox/issues/173 shows a challenge page.
	{network: "DataDome", status: []int{401, 403, 429}, text: "captcha-delivery.com", most: 32 << 10},
	// https://github.com/ziplokk1/incapsula-cracker-py3/issues/1 shows a challenge page.
	{network: "Imperva", text: "Incapsula incident ID", most: 8 << 10},
	// https://github.com/OpenTermsArchive/engine/issues/319 shows a challenge page. Other pages
	// have the script, too, but they are longer:
	// https://github.com/webrecorder/browsertrix-crawler/issues/1135
	{network: "Imperva", text: "/_Incapsula_Resource?SWJIYLWA=", most: 2 << 10},
	// https://github.com/germondai/trawl/pull/33: the challenge has status 200.
	{network: "Akamai", text: `id="sec-if-cpt-container"`, most: 16 << 10},
	// Source: https://github.com/HumanSecurity/perimeterx-python-wsgi, block_template.mustache
	{network: "HUMAN", status: []int{403, 429}, text: "px-captcha", most: 64 << 10},
}

// longestChallenge is the largest length, in bytes, of a body that is searched for any text of
// challenges.
var longestChallenge = slices.MaxFunc(challenges, func(a, b challenge) int { return a.most - b.most }).most

// someCaptcha is the network name of a captcha whose network is not known.
const someCaptcha = "A captcha"

// challengeOf returns the name of the network that sent a challenge as the answer to a request
// for target, or "" if the answer is not a challenge.
func challengeOf(status int, header http.Header, body []byte, target string) string {
	if leadsToCaptcha(status, header.Get("Location"), target) {
		return someCaptcha
	}
	for i := range challenges {
		if c := &challenges[i]; c.field != "" && strings.EqualFold(strings.TrimSpace(header.Get(c.field)), c.value) {
			return c.network
		}
	}
	if len(body) > longestChallenge {
		return ""
	}
	mediaType := ParseMediaType(header["Content-Type"]).Type
	if !isMarkup(mediaType) {
		return ""
	}
	for i := range challenges {
		c := &challenges[i]
		if c.field != "" || len(body) > c.most || c.status != nil && !slices.Contains(c.status, status) {
			continue
		}
		if bytes.Contains(body, []byte(c.text)) {
			return c.network
		}
	}
	if (mediaType == "text/html" || mediaType == "application/xhtml+xml") && isCaptcha(body) {
		return someCaptcha
	}
	return ""
}

// isMarkup reports whether a body of mediaType may be a challenge page: HTML, JSON or plain
// text, or no declared type.
func isMarkup(mediaType string) bool {
	switch mediaType {
	case "", "text/html", "application/xhtml+xml", "application/json", "text/plain":
		return true
	}
	return false
}

// A challengeError says that an answer is a bot-challenge page, which demands a browser.
type challengeError struct {
	Network string // name of the network, for example "Cloudflare"; "A captcha" if it is not known
	Status  int
}

func (e *challengeError) Error() string {
	return fmt.Sprintf("%s answers %d and asks for a browser: the site wants this crawler to slow down, or not to come", e.Network, e.Status)
}

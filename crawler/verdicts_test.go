package crawler_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A verdict is a case of the test: the statements of a site about /p, and the purposes that they
// refuse. Each purpose is a letter (see purposeLetters). A capital letter means that the page is
// not requested.
type verdict struct {
	name    string
	robots  string // robots.txt, or the lines after "User-agent: *" in it
	header  string // header fields, separated by |
	html    string
	rsl     string // license at /rsl.xml of the site
	tdmrep  string
	status  int
	refused string
}

// purposeLetters are the letters of purposes in a verdict.
var purposeLetters = map[byte]robots.Purpose{
	't': robots.PurposeAITrain, 'i': robots.PurposeAIInput, 's': robots.PurposeSearch,
	'r': robots.PurposeResearch, 'a': robots.PurposeArchive, 'l': robots.PurposeLinkCheck, '0': "",
}

const rslOpen, rslClose = `<rsl xmlns="https://rslstandard.org/rsl">`, `</rsl>`

// terms returns an RSL document with one license for the whole site.
func terms(license string) string {
	return rslOpen + `<content url="/"><license>` + license + `</license></content>` + rslClose
}

const named = "License: /rsl.xml\n"

const (
	linkRSL   = `Link: </rsl.xml>; rel="license"; type="application/rsl+xml"`
	linkHTML  = `<link rel=license type=application/rsl+xml href=/rsl.xml>`
	permitAll = `<permits type="usage">all</permits>`
)

var verdicts = []verdict{
	{name: "nothing"},
	{name: "signal", robots: "Content-Signal: search=yes, ai-train=no", refused: "T"},
	{name: "signal, input", robots: "Content-Signal: ai-input=no", refused: "I"},
	{name: "signal, search", robots: "Content-Signal: search=no", refused: "S"},
	{name: "signal, all", robots: "Content-Signal: search=no, ai-input=no, ai-train=no", refused: "TIS"},
	{name: "signal, yes", robots: "Content-Signal: search=yes, ai-input=yes, ai-train=yes"},
	{name: "signal, blanks", robots: "Content-Signal : ai-train = no", refused: "T"},
	{name: "signal, semicolons", robots: "Content-Signal: search=yes; ai-train=no", refused: "T"},
	{name: "signal, quotes", robots: `Content-Signal: ai-train="no"`, refused: "T"},
	{name: "signal, unclear", robots: "Content-Signal: ai-train=perhaps"},
	{name: "signal of a path", robots: "Content-Signal: /p ai-train=no", refused: "T"},
	{name: "signal of another path", robots: "Content-Signal: /q ai-train=no"},
	{name: "signal, longer path opens", robots: "Content-Signal: ai-train=no\nContent-Signal: /p ai-train=yes"},
	{name: "signal, equal paths", robots: "Content-Signal: /p ai-train=no\nContent-Signal: /p ai-train=yes", refused: "T"},
	{name: "signal of our group", robots: "User-agent: *\nAllow: /\nUser-agent: benchbot\nContent-Signal: ai-train=no\nAllow: /", refused: "T"},
	{name: "signal of another group", robots: "User-agent: *\nAllow: /\nUser-agent: gptbot\nContent-Signal: ai-train=no\nAllow: /"},
	{name: "signal of all, and we have a group", robots: "User-agent: *\nContent-Signal: ai-train=no\nUser-agent: benchbot\nAllow: /"},
	{name: "signal of no group", robots: "Content-Signal: ai-train=no\nUser-agent: *\nAllow: /", refused: "T"},
	{name: "signal in the header", header: "Content-Signal: search=yes, ai-input=yes, ai-train=no", refused: "t"},
	{name: "signal in the header, input", header: "Content-Signal: ai-input=no", refused: "i"},
	{name: "signal in the header, search", header: "content-signal: Search=No", refused: "s"},
	{name: "signal in two fields", header: "Content-Signal: ai-train=no|Content-Signal: search=no", refused: "ts"},
	{name: "signal in the header, yes", header: "Content-Signal: ai-train=yes, ai-input=yes, search=yes"},
	{name: "usage", robots: "Content-Usage: train-ai=n", refused: "T"},
	{name: "usage, input", robots: "Content-Usage: ai-use=n", refused: "I"},
	{name: "usage, search", robots: "Content-Usage: search=n", refused: "S"},
	{name: "usage, longer path opens", robots: "Content-Usage: train-ai=n\nContent-Usage: /p train-ai=y"},
	{name: "usage, broken", robots: "Content-Usage: train-ai=n, BAD=="},
	{name: "usage of no group", robots: "Content-Usage: train-ai=n\nUser-agent: *\nAllow: /", refused: "T"},
	{name: "usage in the header", header: "Content-Usage: train-ai=n", refused: "t"},
	{name: "usage in the header, search", header: "Content-Usage: search=n", refused: "s"},
	{name: "usage in two fields", header: "Content-Usage: train-ai=y|Content-Usage: train-ai=n", refused: "t"},
	{name: "usage, the last of one name", header: "Content-Usage: train-ai=n, train-ai=y"},
	{name: "usage with a parameter", header: `Content-Usage: train-ai=n;x="y"`, refused: "t"},
	{name: "usage after an inner list", header: "Content-Usage: foo=(a b);q=1, train-ai=n", refused: "t"},
	{name: "usage, broken in the header", header: "Content-Usage: train-ai=n,,"},
	{name: "noai", header: "X-Robots-Tag: noai, noimageai", refused: "ti"},
	{name: "noimageai of a page", header: "X-Robots-Tag: noimageai"},
	{name: "noimageai of an image", header: "X-Robots-Tag: noimageai|Content-Type: image/png", refused: "ti"},
	{name: "noindex", header: "X-Robots-Tag: noindex", refused: "s"},
	{name: "none", header: "X-Robots-Tag: none", refused: "s"},
	{name: "noindex of another", header: "X-Robots-Tag: otherbot: noindex, nofollow"},
	{name: "noindex of ours", header: "X-Robots-Tag: benchbot: noindex", refused: "s"},
	{name: "noindex after another", header: "X-Robots-Tag: otherbot: nosnippet, benchbot: noindex", refused: "s"},
	{name: "two fields", header: "X-Robots-Tag: nosnippet|X-Robots-Tag: noindex", refused: "is"},
	{name: "no longer available", header: "X-Robots-Tag: unavailable_after: 25 Jun 1999 15:00:00 PST", refused: "s"},
	{name: "still available", header: "X-Robots-Tag: unavailable_after: 25 Jun 2040 15:00:00 GMT"},
	{name: "still available, and noindex", header: "X-Robots-Tag: unavailable_after: 25 Jun 2040 15:00:00 GMT, noindex", refused: "s"},
	{name: "max-snippet", header: "X-Robots-Tag: max-snippet: 0", refused: "i"},
	{name: "noarchive", header: "X-Robots-Tag: noarchive", refused: "a"},
	{name: "nocache", header: "X-Robots-Tag: nocache", refused: "a"},
	{name: "meta noindex", html: "<META NAME=RoBoTs CONTENT=NOINDEX>", refused: "s"},
	{name: "meta of ours", html: "<meta name=benchbot content=noindex>", refused: "s"},
	{name: "meta of another", html: "<meta name=googlebot content=noindex>"},
	{name: "meta of several", html: `<meta name="googlebot, benchbot" content=noindex>`, refused: "s"},
	{name: "two meta", html: "<meta name=robots content=nofollow><meta name=robots content=noindex>", refused: "s"},
	{name: "meta in the body", html: "<body><p>x<meta name=robots content=noindex>", refused: "s"},
	{name: "meta noarchive", html: "<meta name=robots content=noarchive>", refused: "a"},
	{name: "meta noai", html: `<meta name=robots content="noai, noimageai">`, refused: "ti"},
	{name: "meta nosnippet", html: "<meta name=robots content=nosnippet>", refused: "i"},
	{name: "meta in a comment", html: "<!-- <meta name=robots content=noindex> -->"},
	{name: "Noindex", robots: "Noindex: /p", refused: "S"},
	{name: "Noindex of another", robots: "Noindex: /q"},
	{name: "tdm in the header", header: "Tdm-Reservation: 1", refused: "tir"},
	{name: "tdm open in the header", header: "Tdm-Reservation: 0"},
	{name: "tdm in meta", html: `<meta name="tdm-reservation" content="1">`, refused: "tir"},
	{name: "tdm open in meta", header: "Tdm-Reservation: 1", html: `<meta name="tdm-reservation" content="0">`, refused: "tir"},
	{name: "tdm, unclear", header: "Tdm-Reservation: yes"},
	{name: "tdmrep", tdmrep: `[{"location":"/","tdm-reservation":1}]`, refused: "TIR"},
	{name: "tdmrep with a star", tdmrep: `[{"location":"/*","tdm-reservation":1}]`, refused: "TIR"},
	{name: "tdmrep, the first counts", tdmrep: `[{"location":"/p","tdm-reservation":0},{"location":"/","tdm-reservation":1}]`},
	{name: "tdmrep of a string", tdmrep: `[{"location":"/","tdm-reservation":"1"}]`, refused: "TIR"},
	{name: "tdmrep of another place", tdmrep: `[{"location":"/q","tdm-reservation":1}]`},
	{name: "tdmrep with a mark", tdmrep: "\ufeff" + `[{"location":"/p","tdm-reservation":1}]`, refused: "TIR"},
	{name: "tdmrep in Latin-1", tdmrep: `[{"location":"/p","tdm-reservation":1,"tdm-policy":"` + "\xe9" + `"}]`, refused: "TIR"},
	{name: "tdmrep reserves, the header does not", tdmrep: `[{"location":"/","tdm-reservation":1}]`, header: "Tdm-Reservation: 0", refused: "TIR"},
	{name: "the header reserves, tdmrep does not", tdmrep: `[{"location":"/","tdm-reservation":0}]`, header: "Tdm-Reservation: 1", refused: "tir"},
	{name: "tdmrep is no JSON", tdmrep: `<html>`},
	{name: "rsl prohibits", robots: named, rsl: terms(`<prohibits type="usage">ai-train</prohibits>`), refused: "T"},
	{name: "rsl prohibits ai", robots: named, rsl: terms(`<prohibits type="usage">ai-all</prohibits>`), refused: "TI"},
	{name: "rsl prohibits all", robots: named, rsl: terms(`<prohibits type="usage">all</prohibits>`), refused: "TISRA"},
	{name: "rsl permits search", robots: named, rsl: terms(`<permits type="usage">search</permits>`), refused: "TI"},
	{name: "rsl permits all", robots: named, rsl: terms(permitAll)},
	{name: "rsl, free", robots: named, rsl: terms(permitAll + `<payment type="free"/>`)},
	{name: "rsl, attribution", robots: named, rsl: terms(permitAll + `<payment type="attribution"/>`)},
	{name: "rsl, purchase", robots: named, rsl: terms(permitAll + `<payment type="purchase"><amount currency="USD">100</amount></payment>`), refused: "TISRA"},
	{name: "rsl, subscription", robots: named, rsl: terms(permitAll + `<payment type="subscription"><custom>https://x.example/</custom></payment>`), refused: "TISRA"},
	{name: "rsl, crawl", robots: named, rsl: terms(`<payment type="crawl"><amount currency="USD">0.01</amount></payment>`), refused: "TISRA"},
	{name: "rsl, training for money", robots: named, rsl: terms(`<permits type="usage">ai-train</permits><payment type="use"/>`), refused: "TIS"},
	{name: "rsl, reporting", robots: named, rsl: terms(permitAll + `<reporting type="telemetry"/>`), refused: "TISRA"},
	{name: "rsl, users", robots: named, rsl: terms(permitAll + `<permits type="user">non-commercial</permits>`), refused: "TISRA"},
	{name: "rsl, places", robots: named, rsl: terms(permitAll + `<permits type="geo">US</permits>`), refused: "TISRA"},
	{name: "rsl, a server", robots: named, rsl: strings.Replace(terms(permitAll), "url=", `server="https://l.example" url=`, 1), refused: "TISRA"},
	{name: "rsl, free for search, money for the rest", robots: named, rsl: terms(`<permits>search</permits></license><license>` + permitAll + `<payment type="crawl"/>`), refused: "TIRA"},
	{name: "rsl, both", robots: named, rsl: terms(`<permits>ai-train search</permits><prohibits>ai-train</prohibits>`), refused: "TI"},
	{name: "rsl, narrower prohibits", robots: named, rsl: rslOpen + `<content url="/"><license>` + permitAll + `</license></content><content url="/p"><license><prohibits>ai-train</prohibits></license></content>` + rslClose, refused: "T"},
	{name: "rsl, wider prohibits", robots: named, rsl: rslOpen + `<content url="/"><license><prohibits>ai-train</prohibits></license></content><content url="/p"><license><permits>ai-train ai-input search</permits></license></content>` + rslClose, refused: "T"},
	{name: "rsl with a prefix", robots: named, rsl: `<r:rsl xmlns:r="https://rslstandard.org/rsl"><r:content url="/"><r:license><r:prohibits type="usage">ai-train</r:prohibits></r:license></r:content></r:rsl>`, refused: "T"},
	{name: "rsl with commas", robots: named, rsl: terms(`<prohibits>search,ai-train</prohibits>`), refused: "TS"},
	{name: "rsl in Latin-1", robots: named, rsl: `<?xml version="1.0" encoding="ISO-8859-1"?><!-- ` + "\xe9 -->" + terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "rsl with a mark", robots: named, rsl: "\ufeff" + terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "rsl in a feed", robots: named, rsl: `<rss xmlns:r="https://rslstandard.org/rsl"><channel><r:content url="/"><r:license><r:prohibits>ai-train</r:prohibits></r:license></r:content></channel></rss>`, refused: "T"},
	{name: "rsl, missing", robots: named},
	{name: "rsl, no XML", robots: named, rsl: "<html>"},
	{name: "rsl of our group", robots: "License: /none.xml\nUser-agent: benchbot\nAllow: /\nLicense: /rsl.xml", rsl: terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "rsl of our group, not of the file", robots: "License: /rsl.xml\nUser-agent: benchbot\nAllow: /\nLicense: /none.xml", rsl: terms(`<prohibits>ai-train</prohibits>`)},
	{name: "rsl of another group", robots: "User-agent: *\nAllow: /\n\nUser-agent: gptbot\nAllow: /\nLicense: /rsl.xml", rsl: terms(`<prohibits>ai-train</prohibits>`)},
	{name: "rsl after all groups", robots: "User-agent: *\nAllow: /\n\nUser-agent: gptbot\nAllow: /\n\nLicense: /rsl.xml", rsl: terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "rsl in a Link field alone", header: linkRSL, rsl: terms(permitAll), refused: "tisra"},
	{name: "rsl in a Link field and robots.txt", robots: named, header: linkRSL, rsl: terms(permitAll)},
	{name: "rsl in a Link field, prohibited in robots.txt", robots: named, header: linkRSL, rsl: terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "another Link field", header: `Link: </l.html>; rel=license; type="text/html"`},
	{name: "a Link field about another page", header: linkRSL + "; anchor=\"/other\""},
	{name: "rsl in a link element alone", html: linkHTML, rsl: terms(permitAll), refused: "tisra"},
	{name: "rsl in a link element and robots.txt", robots: named, html: linkHTML, rsl: terms(permitAll)},
	{name: "a link element to terms", html: `<link rel=license href=https://creativecommons.org/licenses/by/4.0/>`},
	{name: "rsl in the page", html: `<script type="application/rsl+xml">` + strings.Replace(terms(`<prohibits>ai-train</prohibits>`), `url="/"`, `url=""`, 1) + `</script>`, refused: "t"},
	{name: "rsl in the page, its path", html: `<script type="application/rsl+xml">` + strings.Replace(terms(`<prohibits>all</prohibits>`), `url="/"`, `url="https://www.a.example/p"`, 1) + `</script>`, refused: "tisra"},
	{name: "rsl in the page, permitted", html: `<script type="application/rsl+xml">` + terms(permitAll) + `</script>`},
	{name: "rsl in the page, for money", html: `<script type="application/rsl+xml">` + terms(permitAll+`<payment type="crawl"/>`) + `</script>`, refused: "tisra"},
	{name: "rsl in the page is open, that of robots.txt is not", robots: named, rsl: terms(`<prohibits>search</prohibits>`), html: `<script type="application/rsl+xml">` + terms(permitAll) + `</script>`, refused: "S"},
	{name: "a script of another type", html: `<script type="text/plain">` + terms(`<prohibits>all</prohibits>`) + `</script>`},
	{name: "a license is wanted", status: 402, header: "WWW-Authenticate: License", refused: "tisral0"},
	{name: "a license is wanted, 401", status: 401, header: "WWW-Authenticate: License error=x", refused: "tisral0"},
	{name: "a password is wanted", status: 401, header: "WWW-Authenticate: Basic realm=x"},
	{name: "robots.txt yes, header no", robots: "Content-Usage: train-ai=y", header: "Content-Usage: train-ai=n", refused: "t"},
	{name: "robots.txt no, header yes", robots: "Content-Usage: train-ai=n", header: "Content-Usage: train-ai=y", refused: "T"},
	{name: "usage yes, signal no", robots: "Content-Usage: train-ai=y\nContent-Signal: ai-train=no", refused: "T"},
	{name: "signal yes, noai", robots: "Content-Signal: ai-train=yes, ai-input=yes", html: "<meta name=robots content=noai>", refused: "ti"},
	{name: "signal yes, rsl no", robots: "Content-Signal: ai-train=yes\n" + named, rsl: terms(`<prohibits>ai-train</prohibits>`), refused: "T"},
	{name: "signal no, rsl yes", robots: "Content-Signal: ai-train=no\n" + named, rsl: terms(permitAll), refused: "T"},
	{name: "rsl yes, tdm no", robots: named, rsl: terms(permitAll), tdmrep: `[{"location":"/","tdm-reservation":1}]`, refused: "TIR"},
	{name: "tdm yes, rsl no", robots: named, rsl: terms(`<prohibits>ai-input</prohibits>`), tdmrep: `[{"location":"/","tdm-reservation":0}]`, refused: "I"},
	{name: "search no, index yes", robots: "Content-Signal: search=no", html: "<meta name=robots content=index>", refused: "S"},
	{name: "search yes, noindex", robots: "Content-Signal: search=yes", html: "<meta name=robots content=noindex>", refused: "s"},
	{name: "archive no in the header, rsl permits all", robots: named, rsl: terms(permitAll), header: "X-Robots-Tag: noarchive", refused: "a"},
}

// Each statement about use refuses the purposes that it is about, and no others. Its place and
// other statements make no difference. Each case runs a crawl for each purpose.
func TestUsageVerdicts(t *testing.T) {
	if len(verdicts) < 120 {
		t.Errorf("%d cases", len(verdicts))
	}
	crawls, refusals := 0, 0
	for _, c := range verdicts {
		for letter, purpose := range purposeLetters {
			synctest.Test(t, func(t *testing.T) {
				early := strings.IndexByte(c.refused, letter-'a'+'A') >= 0
				refused := early || strings.IndexByte(c.refused, letter) >= 0
				w := crawltest.New(t)
				rules := c.robots
				if !strings.Contains(rules, "User-agent:") {
					rules = "User-agent: *\nAllow: /\n" + rules
				}
				s := w.Site("http://a.example").Robots(rules+"\n").Page("/", `<a href="/p">1</a>`).Page("/q", "")
				s.Func("/p", func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "text/html; charset=utf-8")
					for field := range strings.SplitSeq(c.header, "|") {
						if name, value, ok := strings.Cut(field, ": "); name == "Content-Type" {
							rw.Header().Set(name, value)
						} else if ok {
							rw.Header().Add(name, value)
						}
					}
					if c.status != 0 {
						rw.WriteHeader(c.status)
					}
					io.WriteString(rw, "<title>t</title>"+c.html+`<a href="/q">q</a>`)
				})
				if c.rsl != "" {
					s.Func("/rsl.xml", sells(c.rsl))
				}
				if c.tdmrep != "" {
					s.Func(robots.TDMRepPath, sent("application/json", c.tdmrep))
				}
				pages, sum := crawl(t, w, func(o *crawler.Options) { o.Purpose = purpose }, "http://a.example/p")
				kept := false
				for _, p := range pages {
					kept = kept || p == "http://a.example/p"
				}
				crawls++
				if refused {
					refusals++
				}
				switch asked := w.Fetched("http://a.example/p") > 0; {
				case refused && kept:
					t.Errorf("%s, for %q: permitted", c.name, purpose)
				case refused && (sum.SkippedURLs[frontier.UseRefused] == 0 || w.Fetched("http://a.example/q") != 0):
					t.Errorf("%s, for %q: %v", c.name, purpose, sum.SkippedURLs)
				case !refused && !kept:
					t.Errorf("%s, for %q: refused", c.name, purpose)
				case early == asked:
					t.Errorf("%s, for %q: asked for: %v", c.name, purpose, asked)
				}
			})
		}
	}
	t.Logf("%d cases, %d crawls, %d refusals", len(verdicts), crawls, refusals)
}

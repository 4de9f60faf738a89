package words

import (
	"cmp"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
)

// Permits returns the flag that permits a site without a public address, or "" if detail
// does not say that this is the problem.
func Permits(detail string) string {
	if strings.Contains(detail, "no public address") || strings.Contains(detail, "not a public address") {
		return "; --allow-private permits it"
	}
	return ""
}

// Changes are the classes of changed pages, as they follow a number of pages.
var Changes = map[crawler.ChangeClass]string{
	crawler.ChangeNew: "new", crawler.ChangeModified: "modified", crawler.ChangeSameText: "with the same text", crawler.ChangeNotModified: "not modified",
}

// linkWords are the words for the reasons why a link does not bring its URL into the
// crawl.
var linkWords = map[crawler.Reason]string{
	crawler.SkipScope:     "links out of scope",
	crawler.SkipDepth:     "links beyond --depth",
	crawler.SkipFilter:    "links excluded by --include, --exclude or --exclude-from",
	crawler.SkipNoFollow:  "links marked nofollow",
	crawler.SkipOptOut:    "links left alone by the opt-out list",
	crawler.SkipRedirects: "redirects after too many others",
	crawler.SkipTrap:      "links into traps",
	crawler.SkipHook:      "links refused by the program",
}

// urlWords are the words for the reasons why a URL of the crawl is not fetched.
var urlWords = map[crawler.Reason]string{
	crawler.SkipRobots:            "URLs forbidden by robots.txt",
	crawler.SkipFailed:            "URLs failed every time",
	crawler.SkipNarrowed:          "URLs put aside, as the scope is narrower now",
	crawler.SkipOptOut:            "URLs left alone by the opt-out list",
	crawler.SkipUse:               "URLs whose owner refuses the purpose of the crawl",
	crawler.SkipSiteDead:          "URLs of sites that do not answer",
	crawler.SkipRobotsUnreachable: "URLs of sites whose robots.txt cannot be had",
	crawler.SkipBudget:            "URLs of sites whose budget is spent",
	crawler.SkipExcluded:          "URLs of excluded sites",
	crawler.SkipLimit:             "URLs beyond the limit",
	crawler.SkipWaits:             "URLs waiting for a clock",
	crawler.SkipQueued:            "URLs queued",
}

// URLs returns why URLs of the crawl are not fetched. The words begin with the noun URLs.
func URLs(reason string) string {
	return cmp.Or(urlWords[crawler.Reason(reason)], "URLs "+reason)
}

// Links returns why links do not bring their URL into the crawl. The words begin with the
// noun links.
func Links(reason string) string {
	return cmp.Or(linkWords[crawler.Reason(reason)], "links "+reason)
}

// stageWords describe why a request was not answered.
var stageWords = map[fetch.Stage]string{
	fetch.StageDNS:            "names without an address",
	fetch.StageDNSTimeout:     "names whose address was not found in time",
	fetch.StageAddress:        "at private addresses (--allow-private permits them)",
	fetch.StageProxy:          "no way through the proxy",
	fetch.StageConnect:        "not connected",
	fetch.StageConnectTimeout: "not connected in time",
	fetch.StageTLS:            "no agreement on TLS (certificates, versions)",
	fetch.StageTLSTimeout:     "no agreement on TLS in time",
	fetch.StageStale:          "connections that the server had closed by then (asked again, costs nothing)",
	fetch.StageCalm:           "asked for rest in the answer's place",
	fetch.StageReset:          "connections broken before the answer",
	fetch.StageAnswerTimeout:  "not answered in time",
	fetch.StageProtocol:       "answers other than HTTP",
	fetch.StageHeaderSize:     "answers with too large a header",
	fetch.StageEncoding:       "answers in an encoding that cannot be read",
	fetch.StageTruncated:      "answers cut by the server",
	fetch.StageBodyTimeout:    "answers that stopped coming",
	fetch.StageTotalTimeout:   "answers that took too long",
	fetch.StageChallenge:      "asked for a browser in the page's place",
	fetch.StageStopped:        "broken off by us",
}

// Stage returns, for the name of a fetch.Stage, why requests were not answered.
func Stage(stage string) string {
	return cmp.Or(stageWords[fetch.Stage(stage)], stage)
}

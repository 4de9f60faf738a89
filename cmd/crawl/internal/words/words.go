package words

import (
	"cmp"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// Permits returns a phrase with the flag that permits requests to a site without a public
// address. detail is the text of an error. If it does not say that there is no public address,
// Permits returns "".
func Permits(detail string) string {
	if strings.Contains(detail, "no public address") || strings.Contains(detail, "not a public address") {
		return "; --allow-private permits it"
	}
	return ""
}

// Changes are the words for the classes of changed pages. The words follow a number of pages.
var Changes = map[crawler.ChangeClass]string{
	crawler.ChangeNew: "new", crawler.ChangeModified: "modified", crawler.ChangeSameText: "with the same text", crawler.ChangeNotModified: "not modified",
}

// linkWords has other words than usual for some reasons why a link was refused, for example to
// name the flag of crawl run.
var linkWords = map[frontier.Code]string{
	frontier.TooDeep:  "beyond --depth",
	frontier.Filtered: "excluded by --include, --exclude or --exclude-from",
	frontier.Trap:     "into traps",
}

// URLs returns, for the name of a frontier.Code, why URLs of the crawl are not fetched. The
// words begin with the noun URLs.
func URLs(name string) string {
	var c frontier.Code
	if c.UnmarshalText([]byte(name)) != nil {
		return "URLs " + name
	}
	return "URLs " + c.Words()
}

// Links returns, for the name of a frontier.Code, why links do not bring their URL into the
// crawl. The words begin with the noun links.
func Links(name string) string {
	var c frontier.Code
	if c.UnmarshalText([]byte(name)) != nil {
		return "links " + name
	}
	return "links " + Link(c)
}

// Link returns why a link does not bring its URL into the crawl, in words that follow "links".
func Link(c frontier.Code) string { return cmp.Or(linkWords[c], c.Words()) }

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
	fetch.StageStale:          "connections that the server had already closed (requested again, not counted as a try)",
	fetch.StageCalm:           "answers that only tell the crawler to slow down",
	fetch.StageReset:          "connections broken before the answer",
	fetch.StageAnswerTimeout:  "not answered in time",
	fetch.StageProtocol:       "answers other than HTTP",
	fetch.StageHeaderSize:     "answers with too large a header",
	fetch.StageEncoding:       "answers in an encoding that cannot be read",
	fetch.StageTruncated:      "answers cut by the server",
	fetch.StageBodyTimeout:    "answers that stopped coming",
	fetch.StageTotalTimeout:   "answers that took too long",
	fetch.StageChallenge:      "bot-challenge pages instead of the page",
	fetch.StageStopped:        "broken off by us",
}

// Stage returns, for the name of a fetch.Stage, why requests were not answered.
func Stage(stage string) string {
	return cmp.Or(stageWords[fetch.Stage(stage)], stage)
}

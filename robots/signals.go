package robots

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Use is a way to use the pages of a site, such as search. Some uses have several names in the
// specifications; here each use has one name.
type Use string

// The uses that the specifications name. Each comment lists the labels and directives that stand
// for the use.
const (
	UseSearch  Use = "search"   // search in Content-Usage and Content-Signal; the directive noindex
	UseAITrain Use = "ai-train" // train-ai and ai-train; the directive noai
	UseAIInput Use = "ai-input" // ai-use and ai-input; the directives noai and nosnippet (Google's page on robots meta tags)
	UseTDM     Use = "tdm"      // text and data mining; tdm-reservation
	UseArchive Use = "archive"  // the directives noarchive and nocache
)

// uses lists all uses, in the order of reports.
var uses = [...]Use{UseSearch, UseAITrain, UseAIInput, UseTDM, UseArchive}

// useOf returns the use that a label of Content-Usage (draft-ietf-aipref-vocab) or Content-Signal
// stands for. It returns "" for an unknown label, which is ignored.
func useOf(label string) Use {
	switch {
	case equalFold(label, "search"):
		return UseSearch
	case equalFold(label, "train-ai"), equalFold(label, "ai-train"):
		return UseAITrain
	case equalFold(label, "ai-use"), equalFold(label, "ai-input"):
		return UseAIInput
	}
	return ""
}

// Stance says whether a use was granted or refused.
type Stance uint8

// The stances, from the least to the most restrictive. unstated is neither a permission nor a
// refusal.
const (
	unstated Stance = iota
	Granted
	Refused
)

// String returns "unknown", "granted" or "refused".
func (s Stance) String() string {
	switch s {
	case unstated:
		return "unknown"
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	}
	return "Stance(" + strconv.Itoa(int(s)) + ")"
}

// A Statement grants or refuses one use. It comes from one line, field or element.
type Statement struct {
	Use     Use
	Granted bool
	Line    int    // number of the line in robots.txt; 0 if the statement is not from robots.txt
	Meta    bool   // the statement is in a meta element of the page, not in the header
	Field   string // name of the line, field or element
	Value   string // the part of the value of the line, field or element that makes the statement
}

// String returns the statement with its source: "line 5: Content-Signal:
// ai-train=no", "X-Robots-Tag: noai" or "meta robots: noai".
func (s Statement) String() string {
	switch text := s.Field + ": " + s.Value; {
	case s.Field == "":
		return ""
	case s.Line > 0:
		return "line " + strconv.Itoa(s.Line) + ": " + text
	case s.Meta:
		return "meta " + text
	default:
		return text
	}
}

// Signals are the statements about the use of one page. The zero value has none. Signals never
// change whether a URL may be requested: see Match.
type Signals struct {
	Statements []Statement
	Licenses   []string  // URLs of terms of use, from License lines of robots.txt (RSL 1.0)
	Policies   []string  // URLs of terms of text and data mining, from tdm-policy
	Copied     time.Time // when robots.txt was fetched; zero if no statement comes from it
}

// IsZero reports whether there are no statements, licenses or policies.
func (s Signals) IsZero() bool {
	return len(s.Statements) == 0 && len(s.Licenses) == 0 && len(s.Policies) == 0
}

// of returns whether a use is granted or refused, and the deciding statement. This is the first of
// the most restrictive statements about the use (draft-ietf-aipref-vocab, "Combining
// Preferences").
func (s Signals) of(use Use) (Stance, Statement) {
	stance, decides := unstated, Statement{}
	for _, one := range s.Statements {
		switch {
		case one.Use != use:
		case !one.Granted:
			return Refused, one
		case stance == unstated:
			stance, decides = Granted, one
		}
	}
	return stance, decides
}

// Deciding returns the deciding statement for each use about which there are statements. The uses
// have a fixed order.
func (s Signals) Deciding() []Statement {
	var all []Statement
	for _, use := range uses {
		if stance, one := s.of(use); stance != unstated {
			all = append(all, one)
		}
	}
	return all
}

// Refuses reports whether any use that p makes was refused, and returns the statement that
// refuses it.
func (s Signals) Refuses(p Purpose) (by Statement, refused bool) {
	if len(s.Statements) == 0 {
		return Statement{}, false
	}
	for _, use := range p.uses() {
		if stance, one := s.of(use); stance == Refused {
			return one, true
		}
	}
	return Statement{}, false
}

// Merge returns the statements, licenses and policies of s and o.
func (s Signals) Merge(o Signals) Signals {
	s.Statements = append(slices.Clip(s.Statements), o.Statements...)
	s.Licenses = append(slices.Clip(s.Licenses), o.Licenses...)
	s.Policies = append(slices.Clip(s.Policies), o.Policies...)
	if s.Copied.IsZero() {
		s.Copied = o.Copied
	}
	return s
}

// Signals returns the statements of the file about the use of target, a path and query. These are
// the statements of Content-Usage and Content-Signal lines with known labels, the first Noindex
// line whose pattern matches, and the first 16 License lines that concern the crawler.
func (g *Group) Signals(target string) Signals {
	s := Signals{Licenses: g.licenses}
	if len(g.others) == 0 {
		return s
	}
	for _, k := range [...]kind{usageLine, signalLine} {
		s.preferences(k, g.preferences(k, target))
	}
	for _, i := range g.others {
		if e := &g.file.entries[i]; e.kind == noindexLine && e.start < e.end {
			value := g.file.value(e)
			if _, ok := patternMatches(value, target); ok {
				s.add(Statement{Use: UseSearch, Line: int(e.line), Field: "Noindex", Value: shown(value)})
				break
			}
		}
	}
	return s
}

// preferences adds a statement for each preference with a known label.
func (s *Signals) preferences(k kind, all preferenceList) {
	name, yes, no := "Content-Usage", "=y", "=n"
	if k == signalLine {
		name, yes, no = "Content-Signal", "=yes", "=no"
	}
	for _, p := range all {
		use, value := useOf(p.Use), p.Use+no
		if p.Granted {
			value = p.Use + yes
		}
		if use != "" {
			s.add(Statement{Use: use, Granted: p.Granted, Line: p.Line, Field: name, Value: value})
		}
	}
}

// maxShown is the length, in octets, of the longest pattern that shown does not shorten.
const maxShown = 256

// shown returns a pattern for a log or a record: in valid UTF-8, and shortened if it is long.
func shown(pattern string) string {
	if len(pattern) > maxShown {
		pattern = pattern[:maxShown] + "..."
	}
	return strings.ToValidUTF8(pattern, "\uFFFD")
}

// add adds a statement, unless s already has a statement with the same use, the same stance and
// the same field name. A file may repeat a statement many thousand times.
func (s *Signals) add(one Statement) {
	for i := range s.Statements {
		if o := &s.Statements[i]; o.Use == one.Use && o.Granted == one.Granted && o.Field == one.Field {
			return
		}
	}
	s.Statements = append(s.Statements, one)
}

// An Answer holds the parts of a server's answer that can state how the answer may be used.
type Answer struct {
	Token   string              // product token of the crawler, which X-Robots-Tag may name
	Aliases []string            // further names of the same crawler
	Time    time.Time           // time of the answer, for unavailable_after
	Type    string              // media type in lower case; noimageai is only about images
	Header  map[string][]string // header fields by canonical name, as in http.Header
	Meta    Directives          // directives of the meta elements, without the header
	TDM     TDM                 // tdm-reservation and tdm-policy of the meta elements, without the header
}

// Signals returns the statements of the answer about its own use. It reads Content-Usage
// (draft-ietf-aipref-attach), Content-Signal, X-Robots-Tag, tdm-reservation and tdm-policy, in the
// header and in meta elements.
func (a *Answer) Signals() Signals {
	var s Signals
	if values := a.Header["Content-Usage"]; values != nil {
		s.preferences(usageLine, headerPreferences(values))
	}
	if values := a.Header["Content-Signal"]; values != nil {
		s.preferences(signalLine, headerSignals(values))
	}
	if values := a.Header["X-Robots-Tag"]; values != nil {
		s.directives(a, HeaderDirectives(a.Token, values, a.Aliases...), Statement{Field: "X-Robots-Tag"})
	}
	reservation, policy := a.Header["Tdm-Reservation"], a.Header["Tdm-Policy"]
	if reservation != nil || policy != nil {
		s.mining(headerTDM(reservation, policy), false)
	}
	if !a.Meta.IsZero() {
		s.directives(a, a.Meta, Statement{Meta: true, Field: "robots"})
	}
	if a.TDM != (TDM{}) {
		s.mining(a.TDM, true)
	}
	return s
}

// directives adds a refusal for each use that d refuses. Directives never grant a use.
func (s *Signals) directives(a *Answer, d Directives, from Statement) {
	refuse := func(yes bool, value string, all ...Use) {
		for _, use := range all {
			if yes {
				from.Use, from.Value = use, value
				s.Statements = append(s.Statements, from)
			}
		}
	}
	refuse(d.NoIndex, "noindex", UseSearch)
	refuse(d.NoArchive, "noarchive", UseArchive)
	refuse(d.NoSnippet, "nosnippet", UseAIInput)
	refuse(d.NoAI, "noai", UseAITrain, UseAIInput)
	refuse(d.NoImageAI && strings.HasPrefix(a.Type, "image/"), "noimageai", UseAITrain, UseAIInput)
	if end := d.UnavailableAfter; !end.IsZero() && end.Before(a.Time) {
		refuse(true, Directives{UnavailableAfter: end}.String(), UseSearch)
	}
}

// mining adds the statement about text and data mining, and the URL of its terms.
func (s *Signals) mining(d TDM, meta bool) {
	one := Statement{Use: UseTDM, Meta: meta, Field: "tdm-reservation", Value: "1"}
	switch d.Mining {
	case Refused:
		s.Statements = append(s.Statements, one)
	case Granted:
		one.Granted, one.Value = true, "0"
		s.Statements = append(s.Statements, one)
	}
	if d.Policy != "" && !slices.Contains(s.Policies, d.Policy) {
		s.Policies = append(s.Policies, d.Policy)
	}
}

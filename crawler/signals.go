package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Signals returns the statements of the owner about the use of the page. They come from the
// robots.txt that allowed the page, from the header and the meta elements of the page, and from
// licenses in the page. If the purpose of the crawl requires it, they also come from the
// tdmrep.json of the site and from the licenses that robots.txt names. They are claims of the
// owner; a law may permit more or less. If there is no statement about a use, it is unknown whether
// the owner permits that use.
func (p *Page) Signals() robots.Signals {
	if p.signalled {
		return p.signals
	}
	if p.rules != nil {
		if p.signals = p.rules.Signals(p.URL.Target()); !p.signals.IsZero() {
			p.signals.Copied = p.copied
		}
	}
	if p.mining != nil {
		p.signals = p.signals.Merge(p.mining.Signals(p.URL.Target()))
	}
	if p.licenses != nil {
		p.signals = p.signals.Merge(p.licenses.Signals(p.URL.String()))
	}
	a := robots.Answer{
		Token: p.token, Aliases: p.aliases, Time: p.exchange().Started, Type: p.Type, Header: p.Header,
		Meta: p.html.Directives, TDM: p.html.TDM,
	}
	own := a.Signals()
	if links := p.Header["Link"]; links != nil {
		all, _ := extract.HeaderLicenses(links, p.URL)
		for _, u := range all {
			own.Licenses = append(own.Licenses, u.String())
		}
	}
	for _, u := range p.html.Licenses {
		if name := u.String(); !slices.Contains(own.Licenses, name) {
			own.Licenses = append(own.Licenses, name)
		}
	}
	for _, terms := range p.html.Terms {
		own = own.Merge(robots.Licenses{{Terms: terms}}.Signals(p.URL.String()))
	}
	if !own.IsZero() {
		p.signals = p.signals.Merge(own)
	}
	p.signalled = true
	return p.signals
}

// usage returns the statements about use in the form for pages.jsonl and the archive. asked is the
// time of the last request for robots.txt. If the robots.txt that applies is an older copy, its
// statements contain the time at which it was fetched.
func (p *Page) usage(asked time.Time) (all []store.UsageRecord, license, policy []string) {
	s := p.Signals()
	if s.IsZero() {
		return nil, nil, nil
	}
	for _, one := range s.Deciding() {
		all = append(all, store.UsageRecord{Use: string(one.Use), Granted: one.Granted, By: said(one, &s, asked)})
	}
	return all, s.Licenses, s.Policies
}

// said returns the statement one as text, with its source. If the source is a robots.txt that was
// not fetched at the time asked, the text ends with the time at which it was fetched.
func said(one robots.Statement, s *robots.Signals, asked time.Time) string {
	text := one.String()
	if one.Line > 0 && !s.Copied.Equal(asked) {
		text += " (copy of " + s.Copied.UTC().Format(time.RFC3339Nano) + ")"
	}
	return text
}

// usageFields returns the statements about use as fields of a WARC metadata record. rules is the
// robots.txt of the page's site, or nil.
func (p *Page) usageFields(rules *robots.Snapshot) []warc.Field {
	var asked time.Time
	if rules != nil {
		asked = rules.Fetched
	}
	all, license, policy := p.usage(asked)
	var fields []warc.Field
	for _, u := range all {
		fields = append(fields, warc.Field{Name: "usage", Value: printable(u.String())})
	}
	for _, url := range license {
		fields = append(fields, warc.Field{Name: "license", Value: printable(url)})
	}
	for _, url := range policy {
		fields = append(fields, warc.Field{Name: "tdmPolicy", Value: printable(url)})
	}
	return fields
}

// decline acts on a page whose owner, in its header or its meta elements, refuses the purpose of
// the crawl, or sells licenses for it. It removes the body, title, digest and links of such a page.
// It keeps only the fact that the page exists, and the owner's statement. It also keeps the target
// of a redirect, which is not part of the page and is judged when it is fetched.
func (j *job) decline(p *Page, res *fetch.Result) {
	if p.refused = j.refusal(p); p.refused == "" {
		return
	}
	p.html, p.sha1, p.charset, p.text, p.read = extract.Document{}, "", "", nil, false
	res.Outcome.Fate.Code, res.Outcome.Fate.Detail = frontier.UseRefused, p.refused
}

// refusal returns the statement that forbids to store the page p, or "" if none exists.
func (j *job) refusal(p *Page) string {
	if wanted := p.licenseWanted(); wanted != "" || j.opts.Purpose == "" {
		return wanted
	}
	by, refused := p.Signals().Refuses(j.opts.Purpose)
	if !refused {
		by, _ = p.unreadLicenses().Signals(p.URL.String()).Refuses(j.opts.Purpose)
	}
	return by.String()
}

// unreadLicenses returns the licenses that the page names in its header or its link elements, but
// robots.txt does not. They become known only after the page was fetched, and are not requested. So
// their terms are unknown, and they count as permitting nothing.
func (p *Page) unreadLicenses() (all robots.Licenses) {
	_, named := extract.HeaderLicenses(p.Header["Link"], p.URL)
	for _, u := range append(named, p.html.Licenses...) {
		name := u.String()
		if !slices.ContainsFunc(p.licenses, func(l robots.License) bool { return l.URL == name }) {
			all = append(all, robots.License{URL: name, Unread: "only the page names it, or it could not be had"})
		}
	}
	return all
}

// warnUnreadUse logs a warning for each tdmrep.json or license that was sent with a 2xx status and
// cannot be read. It ignores HTML pages, because many sites send such a page in place of a missing
// file.
func (j *job) warnUnreadUse(res *fetch.Result) {
	for _, x := range res.Exchanges {
		if !x.Mining || x.Err != nil || x.Status/100 != 2 || typeOf(x.Header, x.Body) == "text/html" {
			continue
		}
		mining, reason := robots.ParseTDMRep(x.Body).Err(), robots.ParseRSL(x.Body).Err()
		if mining == nil || reason == nil {
			continue
		}
		if x.URL.Target() == robots.TDMRepPath {
			reason = mining
		}
		if j.unreadUse.Add(1) <= maxWarnings {
			j.opts.Logger.Warn("a document about use cannot be read, and says nothing", "url", x.URL.String(), "reason", reason)
		}
	}
}

// licenseWanted returns a text if the server sends the page only to holders of a license (RSL 1.0,
// Crawler Authorization Protocol), and otherwise "". The text has the URL of the license if it is
// known. A crawl buys no license.
func (p *Page) licenseWanted() string {
	if p.Status != http.StatusUnauthorized && p.Status != http.StatusPaymentRequired {
		return ""
	}
	code, wanted := robots.LicenseChallenge(p.Header["Www-Authenticate"])
	if !wanted {
		return ""
	}
	text := "WWW-Authenticate: License"
	if code != "" {
		text += " error=" + code
	}
	if own, _ := extract.HeaderLicenses(p.Header["Link"], p.URL); len(own) > 0 {
		text += " (" + own[0].String() + ")"
	} else if s := p.Signals(); len(s.Licenses) > 0 {
		text += " (" + s.Licenses[0] + ")" // the license that robots.txt names
	}
	return text
}

// declined reports whether the answer x must not be archived, because the owner refuses the purpose
// of the crawl. x is the answer of the page p, or an answer without a page because the URL is
// requested again. If the body of x was cut, the part that was received is read.
func (j *job) declined(e frontier.Entry, x *fetch.Exchange, p *Page) bool {
	switch {
	case p != nil && p.Exchange == x:
		return p.refused != ""
	case x.Robots || j.opts.Purpose == "" && x.Status/100 != 4:
		return false
	}
	return j.refusal(newPage(new(Page), e, &fetch.Result{Page: x}, extract.Options{Token: j.opts.Identity.Token, Aliases: j.opts.Aliases})) != ""
}

// printable returns s with percent-encoded control characters, because a field of a WARC record
// cannot hold control characters.
func printable(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isControl(r) {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

package crawler

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// archive returns the options for the WARC files of the crawl, or nil if it writes no WARC files.
func (o *Options) archive() *store.Archive {
	if !o.writes(OutputWARC) {
		return nil
	}
	hostname, _ := os.Hostname() // empty if unknown
	return &store.Archive{
		MaxSize: o.MaxArchive,
		Info: warc.Info{
			Software: "permesso/" + Version, Robots: "RFC 9309", UserAgent: o.Identity.UserAgent(), From: o.Identity.From(),
			Operator: o.Identity.Contact, Hostname: hostname, IsPartOf: partOf(o.Dir),
		},
	}
}

// partOf returns the last element of the path dir, in the form that a field of a WARC record can
// hold: each control character is replaced by "_".
func partOf(dir string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(filepath.Base(dir), "_"))
}

// store writes the result of a visit: all answers, including those for robots.txt, and the page p,
// which may be nil.
//
// The parameter db is the storage of the visit; if it is nil, nothing is written. The parameter
// before holds the records of earlier visits of the URL of e.
func (j *job) store(db *store.DB, e frontier.Entry, res *fetch.Result, p *Page, before *recollection) error {
	// The page p refers to the capture, and the program may keep p. Release frees the memory of the
	// capture nevertheless.
	if before.capture != nil {
		defer before.capture.Release()
	}
	if db == nil {
		return nil
	}
	var v store.Visit
	if !before.unconditional { // with plain the capture was unusable, so no record may refer to it
		v.Before = before.capture
	}
	for _, x := range res.Exchanges {
		if x.Status == 0 || !j.opts.writes(OutputWARC) || j.declined(e, x, p) {
			continue
		}
		record := archived(e, x, res)
		if !x.Robots {
			v.Answer = record
		}
		if p != nil && x == res.Page {
			if record.PayloadDigest = p.payload; isUncoded(x) {
				record.PayloadDigest = p.digest()
			}
			if k := p.kept; k != nil {
				record.Revisit = &warc.RevisitOf{Profile: warc.ServerNotModified, URL: k.OfURL, Date: k.OfDate, PayloadDigest: k.Digest}
			}
			record.Metadata = append(record.Metadata, p.usageFields(res.Snapshot)...)
			record.Metadata = append(record.Metadata, p.ownURLs()...)
			record.Metadata = append(record.Metadata, p.changeFields()...)
		}
		v.Exchanges = append(v.Exchanges, record)
	}
	if p != nil && (j.opts.writes(OutputPages) || j.opts.writes(OutputBodies)) {
		v.Page = p.record(res.Snapshot, j.opts.writes(OutputBodies))
	}
	if p != nil && j.opts.writes(OutputLinks) {
		v.Links = p.linkRecords()
	}
	refused, err := db.PutVisit(&v)
	res.Outcome.Fate.Answer, res.Outcome.Body = v.Place, before.bodyOf(&v)
	if v.Unread != nil {
		j.countUnread(before, v.Unread)
	}
	for _, r := range refused { // logged only, because one server's answer must not end the crawl
		j.opts.Logger.Error("an answer cannot be archived", "error", r)
	}
	return err
}

// archived returns the data of an exchange, which is a request with its answer, in the form that
// package warc writes to the archive.
func archived(e frontier.Entry, x *fetch.Exchange, res *fetch.Result) *warc.Exchange {
	w := &warc.Exchange{
		URL: x.URL.String(), Date: x.Started, IP: x.Addr.Addr(), Cipher: x.TLSCipher,
		Truncated: warc.Truncation(x.Truncated), Metadata: metadata(e, x, res), Head: x.Head,
	}
	if x.Proto == "ftp" {
		w.File = &warc.File{Type: x.Header.Get("Content-Type"), Body: x.Body}
		return w
	}
	if x.Proto != "" {
		w.Protocol = append(w.Protocol, x.Proto)
	}
	if x.TLSVersion != "" { // for example "TLS 1.3" as "tls/1.3", the form of WARC 1.1
		w.Protocol = append(w.Protocol, strings.ReplaceAll(strings.ToLower(x.TLSVersion), " ", "/"))
	}
	w.Response = &warc.HTTP{
		Head: x.ResponseHead, StartLine: warc.StatusLine(x.Status), Header: x.Header, Body: x.Wire, Coding: warc.Unchunked,
	}
	if x.Head {
		w.Response.Coding = warc.AsSent // an answer to HEAD has no body, so no transfer coding was removed
	}
	if len(x.RequestHead) > 0 {
		w.Request = &warc.HTTP{Head: x.RequestHead}
	}
	return w
}

// fieldWanted is the name of the metadata field for an entry that was to be requested with HEAD.
// The value is HEAD even if the server refused HEAD and a GET request followed.
const fieldWanted = "wantedMethod"

// metadata returns the fields of the WARC metadata record for the exchange x (WARC 1.1, section
// 6.6). They are facts about the request that neither the request nor the answer contains, such as
// the number of milliseconds it took.
func metadata(e frontier.Entry, x *fetch.Exchange, res *fetch.Result) []warc.Field {
	var fields []warc.Field
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, warc.Field{Name: name, Value: printable(value)})
		}
	}
	hops, via := e.Hops, e.Via
	if x.Robots {
		hops, via = hops+string(frontier.HopPrerequisite), e.URL.String()
	}
	add("via", via)
	add("hopsFromSeed", hops)
	add("fetchTimeMs", strconv.FormatInt(x.Ended.Sub(x.Started).Milliseconds(), 10))
	add("seedTag", e.Tag)
	if e.Head && !x.Robots {
		add(fieldWanted, http.MethodHead)
	}
	if !x.Robots && res.Snapshot != nil {
		add("robotsFetched", res.Snapshot.Fetched.UTC().Format(time.RFC3339Nano))
		if rule := res.Verdict.Rule; rule.Line > 0 {
			add("robotsRule", "line "+strconv.Itoa(rule.Line)+": Allow: "+rule.Pattern)
		}
	}
	return fields
}

// ownURLs returns metadata fields with the URLs that the page declares for itself: its canonical
// URL and its Open Graph URL.
func (p *Page) ownURLs() []warc.Field {
	var fields []warc.Field
	for _, f := range [...]warc.Field{{Name: "canonical", Value: p.Canonical().String()}, {Name: "ogUrl", Value: p.OpenGraphURL().String()}} {
		if f.Value != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// changeFields returns metadata fields that say how the page differs from its earlier version.
func (p *Page) changeFields() []warc.Field {
	fields := []warc.Field{{Name: "change", Value: string(p.change)}}
	if p.texts {
		fields = append(fields, warc.Field{Name: store.FieldTextDigest, Value: p.TextDigest()})
	}
	return fields
}

// record returns the line of the page for the file pages.jsonl. If bodies is true, the line
// contains the body of the page.
func (p *Page) record(rules *robots.Snapshot, bodies bool) *store.PageRecord {
	r := &store.PageRecord{
		URL: p.URL.String(), Time: p.Exchange.Started.UTC().Truncate(time.Microsecond), Status: p.Status, Type: p.Type,
		Size: int64(len(p.Body)), Digest: p.digest(), Truncated: p.Truncated,
		Title: p.Title(), Location: p.Location.String(), Links: p.linkCount(), LinksCut: p.html.Cut,
		Depth: p.Entry.Depth, Hops: p.Entry.Hops, Via: p.Entry.Via, Tag: p.Entry.Tag,
		NoIndex: p.Directives.NoIndex, NoArchive: p.Directives.NoArchive, Refused: p.refused,
		Canonical: p.Canonical().String(), OpenGraph: p.OpenGraphURL().String(),
	}
	if p.Exchange.Head {
		r.Method = http.MethodHead
	}
	r.Change = string(p.change)
	if p.texts {
		r.TextDigest = p.TextDigest()
	}
	if rules != nil {
		r.Robots = rules.Fetched.UTC()
	}
	if rule := p.Verdict.Rule; rule.Line > 0 {
		r.Rule = "line " + strconv.Itoa(rule.Line) + ": Allow: " + rule.Pattern
	}
	r.Usage, r.License, r.TDMPolicy = p.usage(r.Robots)
	if bodies && len(p.Body) > 0 && p.refused == "" {
		if isText(p.Type) {
			r.Body = p.Text()
		} else {
			r.Base64 = p.Body
		}
	}
	r.Charset = p.charset
	return r
}

// linkCount returns the number of links on the page to other documents. It does not count
// redirects, nor links to images, scripts and style sheets.
func (p *Page) linkCount() int {
	n := 0
	for i := range p.html.Links {
		if p.html.Links[i].Hop == frontier.HopLink {
			n++
		}
	}
	return n
}

// linkRecords returns the lines of the page for the file links.jsonl: one line for each link, and
// one for the redirect if the answer is a redirect.
func (p *Page) linkRecords() []store.LinkRecord {
	edges := make([]store.LinkRecord, 0, len(p.html.Links)+1)
	from := p.URL.String()
	if p.redirect {
		edges = append(edges, store.LinkRecord{From: from, To: p.Location.String(), Hop: string(frontier.HopRedirect), Where: "location"})
	}
	for i := range p.html.Links {
		l := &p.html.Links[i]
		edges = append(edges, store.LinkRecord{From: from, To: l.URL.String(), Hop: string(l.Hop), Where: l.Where, Rel: l.Rel, Lang: l.Lang(), Text: l.Text()})
	}
	return edges
}

package provenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// mostRows is the largest number of rows in a table of a datasheet. provenance.json has all
// rows.
const mostRows = 50

// facts returns the facts for the datasheet, as texts in Markdown, by name. In the datasheet
// each text is between a mark with this name (see beginFacts) and the next mark.
func (p *Provenance) facts() map[string]string {
	all := map[string]string{
		"crawl":         p.crawlFacts(),
		"purpose":       p.purposeFacts(),
		"counts":        p.countFacts(),
		"hosts":         p.hostFacts(),
		"types":         p.typeFacts(),
		"missing":       p.missingFacts(),
		"signals":       p.signalFacts(),
		"collection":    p.collectionFacts(),
		"settings":      p.settingFacts(),
		"overrides":     p.overrideFacts(),
		"politeness":    p.politeFacts(),
		"preprocessing": p.processFacts(),
		"files":         p.fileFacts(),
		"versions":      p.versionFacts(),
		"contact":       "The crawl says of itself in every request: " + shown(p.Identity.UserAgent) + ".\n",
	}
	for name, text := range all {
		all[name] = strings.TrimSuffix(text, "\n") + "\n"
	}
	return all
}

// setting returns the value of a setting, or Unknown if the crawl does not have it.
func (p *Provenance) setting(name string) string {
	for _, s := range p.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return Unknown
}

func moment(t time.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return t.UTC().Format(time.RFC3339)
}

func (p *Provenance) crawlFacts() string {
	return fmt.Sprintf("The crawl %s of %s, from %s to %s. Written on %s by %s; the same and more, for programs, is in %s.\n",
		shown(p.Name), shown(p.Identity.Token), moment(p.Figures.First), moment(p.Figures.Last), moment(p.Written), shown(p.Writer.Program), File)
}

func (p *Provenance) purposeFacts() string {
	purpose := p.setting("purpose")
	if purpose == "none" {
		return "The crawl declares no purpose to sites.\n"
	}
	return "The crawl declares its purpose to sites as " + shown(purpose) + ".\n"
}

func (p *Provenance) countFacts() string {
	f := &p.Figures
	t := newTable("what", "how many")
	t.number("URLs that entered the crawl", p.Absences.Entered)
	t.number("of them, answered", p.Absences.Entered-p.Absences.URLs)
	t.number("of them, without an answer", p.Absences.URLs)
	t.number("seeds", p.Seeds.Count)
	t.number("requests", f.Requests)
	t.number("of them, for robots.txt", f.RobotsRequests)
	t.number("bytes of bodies over the wire", f.Bytes)
	t.number("hosts", f.Hosts)
	if f.HasPages {
		t.number("lines of pages.jsonl", f.Pages)
	}
	return "An item is the answer to one request for one URL, at one time.\n\n" + t.String()
}

func (p *Provenance) hostFacts() string {
	t := newTable("host", "requests")
	for _, c := range p.Figures.TopHosts {
		t.number(shown(c.Name), c.N)
	}
	return t.String() + more(p.Figures.Hosts-int64(len(p.Figures.TopHosts)), "host")
}

// more returns a sentence that says that a table leaves out n rows. It returns "" if n is 0. of
// is the noun for a row, in the singular.
func more(n int64, of string) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "\nAnd 1 " + of + " more.\n"
	}
	return fmt.Sprintf("\nAnd %d %ss more.\n", n, of)
}

// numbers returns a table of names and their counts, the largest count first. what and unit are
// the heads of its columns. If m is empty, it returns the text empty instead.
func numbers(what, unit, empty string, m map[string]int64) string {
	if len(m) == 0 {
		return empty + "\n"
	}
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	t := newTable(what, unit)
	for i, name := range names {
		if i == mostRows {
			return t.String() + more(int64(len(names)-i), "row")
		}
		t.number(shown(name), m[name])
	}
	return t.String()
}

func (p *Provenance) typeFacts() string {
	f := &p.Figures
	text := numbers("media type of answers with 2xx, and of what was not modified", "answers", "No answer had a status of 2xx.", f.Types) + "\n" +
		numbers("HTTP status, robots.txt included", "answers", "There was no answer.", f.Statuses)
	if f.Statuses["304"] > 0 {
		text += "\nA 304 says that a page has not changed since it was fetched before: no body was sent. It is a page of this crawl, counted with its earlier type, and pages.jsonl has it with its earlier status.\n"
	}
	return text
}

func (p *Provenance) missingFacts() string {
	a := &p.Absences
	t := newTable("what became of URLs that entered the crawl", "", "URLs")
	for _, s := range frontier.Fates() {
		if n := a.Fates[s]; n > 0 {
			t.row(s.Words(), shown(s.String()), fmt.Sprint(n))
		}
	}
	text := t.String() + "\nThose without an answer are in " + AbsencesFile + ", each with the reason.\n\n"
	if a.Source == "" {
		return text + "Links that were refused before they entered the crawl were not counted.\n"
	}
	if a.Source == SourceLastRun {
		return text + "Links that did not bring their URL into the crawl, each URL once for each page, as " + a.Source + " counts them:\n\n" +
			numbers("why", "links", "None.", a.SkippedLinks)
	}
	return text + "URLs that pages link to and that never entered the crawl, each once, as " + a.Source + " has them:\n\n" +
		numbers("why", "URLs", "None.", a.Refused)
}

func (p *Provenance) signalFacts() string {
	f := &p.Figures
	if !f.HasPages {
		return "This is not known, because the crawl has written no pages.jsonl.\n"
	}
	t := newTable("what owners have said", "pages")
	t.number("not to be indexed", f.NoIndex)
	t.number("not to be shown from an archive", f.NoArchive)
	t.number("the purpose of the crawl is refused: nothing of the page was kept", f.Refused)
	for _, name := range slices.Sorted(maps.Keys(f.Usage)) {
		t.number("use: "+shown(name), f.Usage[name])
	}
	text := t.String()
	if len(f.Licenses) > 0 {
		terms := newTable("place of the terms of use", "pages")
		for _, c := range f.Licenses {
			terms.number(shown(c.Name), c.N)
		}
		text += "\n" + terms.String()
	}
	return text
}

func (p *Provenance) collectionFacts() string {
	id := &p.Identity
	text := fmt.Sprintf("By the crawler %s (contact: %s), which sent the User-Agent %s, in %s (%d killed), from %s given as seeds (SHA-256 of the list: %s).\n\n",
		shown(id.Token), shown(id.Contact), shown(id.UserAgent), plural(p.Runs.All, "run"), p.Killed, plural(p.Seeds.Count, "URL"), shown(p.Seeds.SHA256))
	t := newTable("run began", "last line", "ended", "program", "clock", "synchronised")
	for i, r := range p.Runs.List {
		if i == mostRows {
			break
		}
		program := Unknown
		if b, known := p.Builds[r.Build]; known {
			program = fmt.Sprintf("%s %s/%s", b.Program, b.OS, b.Arch)
		}
		t.row(moment(r.Began), moment(r.Last), shown(r.How), shown(program), shown(r.Clock), shown(r.Synchronised))
	}
	return text + t.String() + more(p.Runs.All-int64(min(mostRows, len(p.Runs.List))), "run")
}

func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (p *Provenance) settingFacts() string {
	t := newTable("setting that is not the usual one", "value", "usual value")
	n := 0
	for _, s := range p.Settings {
		if s.Given {
			t.row(shown(s.Name), shown(setting.InWords(s.Value)), shown(setting.InWords(s.Usual)))
			n++
		}
	}
	text := "All settings are the usual ones.\n"
	if n > 0 {
		text = t.String()
	}
	text += fmt.Sprintf("\nSettings that changed between runs of this crawl: %d; orders while it ran: %d.\n", p.Changes.All, p.Orders.All)
	if slices.ContainsFunc(p.Outputs, func(o Output) bool { return o.Name == "snapshot.json" }) {
		text += "\nIf the job differs from that of the snapshot before, snapshot.json says how, as `changed`.\n"
	}
	return text
}

func (p *Provenance) overrideFacts() string {
	if p.Overrides.All == 0 {
		return "No.\n"
	}
	t := newTable("site", "setting", "value", "reason")
	for i, o := range p.Overrides.List {
		if i == mostRows {
			break
		}
		site, reason := "all", "none is given"
		if o.Site != "" {
			site = shown(o.Site)
		}
		if o.Reason != "" {
			reason = shown(o.Reason)
		}
		t.row(site, shown(o.Setting), shown(o.Value), reason)
	}
	return t.String() + more(p.Overrides.All-int64(min(mostRows, len(p.Overrides.List))), "row")
}

func (p *Provenance) politeFacts() string {
	a := &p.Audit
	text := fmt.Sprintf("Of robots.txt, %s of %s are kept (%s).\n\n", copies(p.Robots.Copies), plural(p.Robots.Sites, "site"), RobotsFile)
	if p.Previous != nil {
		text += "A copy that was fetched before this crawl began was carried over from the crawl before it, and held for as long as it would have there.\n\n"
	}
	if a.Verdict == NotAudited {
		return text + "The crawl was not audited: " + shown(a.Why) + ".\n"
	}
	t := newTable("rule that requests were held against", "held", "broken")
	for _, c := range a.Checks {
		t.row(shown(c.Rule), fmt.Sprint(c.Checked), fmt.Sprint(c.Violations))
	}
	return text + fmt.Sprintf("The audit of %s: %s; lines that prove nothing: %d.\n\n",
		plural(a.Requests, "request"), plural(a.Violations, "violation"), a.UnprovenLines) + t.String()
}

func copies(n int64) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

func (p *Provenance) processFacts() string {
	text := "The archive has answers as they were sent. "
	if p.Figures.HasPages {
		text += fmt.Sprintf("In pages.jsonl, texts are decoded; bodies that are not whole: %d. ", p.Figures.Truncated)
	}
	return text + "The longest body that was taken: " + shown(p.setting("max-size")) + ".\n"
}

func (p *Provenance) fileFacts() string {
	var bytes int64
	for _, o := range p.Outputs {
		bytes += o.Bytes
	}
	t := newTable("file", "bytes", "SHA-256")
	for i, o := range p.Outputs {
		if i == mostRows {
			break
		}
		t.row(shown(o.Name), fmt.Sprint(o.Bytes), shown(o.SHA256))
	}
	return fmt.Sprintf("%s, %d bytes in all.\n\n", plural(int64(len(p.Outputs)), "file"), bytes) + t.String() +
		more(int64(len(p.Outputs)-min(mostRows, len(p.Outputs))), "file") + p.elsewhereFacts()
}

// elsewhereFacts returns a paragraph that says that some bodies are in the archives of earlier
// crawls. It returns "" if there is no previous crawl.
func (p *Provenance) elsewhereFacts() string {
	if p.Previous == nil {
		return ""
	}
	return "\nA body that has not changed since an earlier crawl is not stored again: a record of type `revisit` says where it is. So the archive is complete only together with those of the earlier crawls; `crawl verify` names each body that is missing.\n"
}

// changeWords has the words for the classes of changes.
var changeWords = map[crawler.ChangeClass]string{
	crawler.ChangeNew:         "it was not fetched before, or was no page",
	crawler.ChangeModified:    "another body, with another text for readers",
	crawler.ChangeSameText:    "another body, with the same text for readers",
	crawler.ChangeNotModified: "the same",
}

// changeFacts returns a table of how pages have changed since they were last fetched. It
// returns "" if this is not known for any page.
func (p *Provenance) changeFacts() string {
	f := &p.Figures
	if !f.HasPages || p.Previous == nil && len(f.PageChanges) == 0 {
		return ""
	}
	t := newTable("what became of pages since they were fetched before", "", "pages")
	for _, c := range crawler.ChangeClasses() {
		t.row(changeWords[c], shown(string(c)), fmt.Sprint(f.PageChanges[string(c)]))
	}
	switch {
	case f.Gone != nil:
		t.row("404 or 410, and answered without an error in the crawl before", shown("gone"), fmt.Sprint(*f.Gone))
	case p.Previous != nil:
		return "\n" + t.String() + "\nHow many pages are gone is not known: the crawl before cannot be read.\n"
	}
	return "\n" + t.String()
}

func (p *Provenance) versionFacts() string {
	text := "No crawl before this one is named.\n"
	if p.Previous != nil {
		text = "The crawl before this one is " + shown(p.Previous.Dir) + ".\n"
	}
	text += p.changeFacts()
	if p.Purge != nil {
		text += fmt.Sprintf("\nSince it was captured, what there was of %s was taken out for its owner, last on %s: absences.jsonl names them.\n", plural(p.Purge.URLs, "URL"), p.Purge.Last.Format(time.RFC3339))
	}
	return text
}

package provenance_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/purge"
	"github.com/permesso-crawler/permesso/internal/store"
)

var testIdentity = crawler.Identity{Token: "paperbot", Contact: "https://example.org/paperbot", Mail: "me@example.org"}

// settle is a time after all runs of the crawl that crawled makes.
var settle = time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC)

// crawled makes a crawl in two runs that has everything that a provenance describes. Site a
// answers, refuses and fails; site b is excluded by its owner; site c has settings of its own.
func crawled(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "paper.crawl")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n").
			Page("/", `<a href=/1>1</a><a href=/no/1>2</a><a href=/gone>3</a><a href=/broken>4</a><a href=http://elsewhere.example/x>5</a><a rel=nofollow href=/ad>6</a>`).
			Page("/1", `<meta name=robots content="noindex, noai">1`).
			Status("/gone", http.StatusNotFound).Status("/broken", http.StatusInternalServerError)
		w.Site("http://b.example").Robots("").Page("/", "b")
		w.Site("http://c.example").Robots("").Page("/", "c")
		run := func(change func(o *crawler.Options)) {
			o := crawler.Options{
				Identity: testIdentity, Seeds: []string{"http://a.example/\tnews", "http://b.example/", "http://c.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
				Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}}, Budget: crawler.Budget{Patience: time.Hour},
				OptOut: func(u frontier.URL) string {
					if u.Host() == "b.example" {
						return "mail of 3 May"
					}
					return ""
				},
				Site: func(s frontier.Site) crawler.SiteOptions {
					if s.Host() == "c.example" {
						return crawler.SiteOptions{AllowForbidden: true, Reason: "agreed by mail, 4 May"}
					}
					return crawler.SiteOptions{}
				},
			}
			change(&o)
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		run(func(o *crawler.Options) { o.Limit = 2 })
		time.Sleep(24 * time.Hour)
		run(func(o *crawler.Options) { o.AllowPrivate, o.Delay = true, 2*time.Second })
	})
	return dir
}

func write(t *testing.T, dir string, o provenance.Options) *provenance.Result {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = settle
	}
	o.Temp = t.TempDir()
	res, err := provenance.Write(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// linesOf returns the lines of a JSON Lines file as values.
func linesOf[T any](t *testing.T, dir, name string) (all []T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bytes.NewReader(raw))
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v: %s", name, err, in.Text())
		}
		all = append(all, v)
	}
	return all
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// provenance.json has the settings, the identity of the crawler, and how each run ended.
func TestAProvenanceSaysWhoAskedAndHow(t *testing.T) {
	dir := crawled(t)
	p := write(t, dir, provenance.Options{}).Provenance
	var read provenance.Provenance
	raw, err := os.ReadFile(filepath.Join(dir, provenance.File))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &read); err != nil || read.Version != provenance.Version || read.Name != "paper.crawl" || !read.Written.Equal(settle) {
		t.Errorf("%v: %+v", err, read)
	}
	if p.Identity.Token != "paperbot" || p.Identity.UserAgent != testIdentity.UserAgent() || !slices.Equal(p.Identity.Archived, []string{testIdentity.UserAgent()}) || p.Identity.From != "me@example.org" {
		t.Errorf("%+v", p.Identity)
	}
	if len(p.Runs.List) != 2 || p.Runs.All != 2 || p.Killed != 0 {
		t.Fatalf("%+v", p.Runs)
	}
	first, second := p.Runs.List[0], p.Runs.List[1]
	if first.How != string(crawler.EndLimit) || second.How != string(crawler.EndDone) || second.Began.Sub(first.Began) < 24*time.Hour || first.Ended.IsZero() ||
		first.Last.Before(first.Began) || !first.Last.Before(second.Began) || first.Build == "" || p.Builds[first.Build].Go == "" || first.Offset == nil || first.Zone == "" {
		t.Errorf("%+v", p.Runs.List)
	}
	sums := sha256.New()
	given := map[string]string{}
	for _, s := range p.Settings {
		fmt.Fprintf(sums, "%s\x00%s\x00", s.Name, s.Value)
		if s.Given {
			given[s.Name] = s.Value
		}
	}
	if want := map[string]string{"delay": "2s", "allow-private": "yes", "output": "warc,jsonl,links", "patience": "1h"}; !maps.Equal(given, want) {
		t.Errorf("given: %v", given)
	}
	if hex.EncodeToString(sums.Sum(nil)) != p.SettingsSHA256 || len(p.Settings) != len(new(crawler.Options).Settings()) {
		t.Errorf("%d settings with digest %s", len(p.Settings), p.SettingsSHA256)
	}
	var changes []string
	for _, c := range p.Changes.List {
		changes = append(changes, c.Setting+" "+c.Was+" "+c.Is)
	}
	if want := []string{"delay 1s 2s", "limit 2 none", "allow-private no yes"}; !slices.Equal(changes, want) {
		t.Errorf("%q", changes)
	}
	var overrides []string
	for _, o := range p.Overrides.List {
		overrides = append(overrides, strings.TrimSpace(o.Site+" "+o.Setting+"="+o.Value+" "+o.Reason))
	}
	if want := []string{"allow-private=yes", "http://c.example robots-forbidden=allow agreed by mail, 4 May"}; !slices.Equal(slices.Compact(overrides), want) {
		t.Errorf("%q", overrides)
	}
	list := "http://a.example/\tnews\nhttp://b.example/\nhttp://c.example/\n"
	if p.Seeds.Count != 3 || strings.Join(p.Seeds.List, "\n")+"\n" != list || p.Seeds.SHA256 != sum([]byte(list)) || p.Seeds.File != "" {
		t.Errorf("%+v", p.Seeds)
	}
}

// absences.jsonl has each queued URL without a stored answer, and why. It also counts links
// whose URL was never queued, by site and reason.
func TestWhatIsMissingIsTold(t *testing.T) {
	dir := crawled(t)
	p := write(t, dir, provenance.Options{}).Provenance
	absent := map[string]string{}
	refused := map[string]int64{}
	for _, l := range linesOf[struct {
		provenance.Absence
		provenance.Refusal
	}](t, dir, provenance.AbsencesFile) {
		if l.URL != "" {
			absent[l.URL] = l.Fate.String()
			continue
		}
		refused[string(l.Site)+" "+l.Refused] += l.URLs
		if len(l.Examples) != 1 {
			t.Errorf("%+v", l)
		}
	}
	if want := map[string]string{"http://a.example/no/1": "refused", "http://a.example/broken": "failed", "http://b.example/": "optout"}; !maps.Equal(absent, want) {
		t.Errorf("%v", absent)
	}
	if want := map[string]int64{"http://a.example nofollow": 1, "http://elsewhere.example outside": 1}; !maps.Equal(refused, want) {
		t.Errorf("%v", refused)
	}
	a := p.Absences
	if a.Entered != 7 || a.URLs != 3 || a.Fates[frontier.Fetched] != 4 || a.Source != provenance.SourceLinks || a.Refused["nofollow"] != 1 || a.Refused["outside"] != 1 {
		t.Errorf("%+v", a)
	}
	f := p.Figures
	if f.Pages == 0 || f.NoIndex != 1 || f.Usage["ai-train refused"] != 1 || f.Statuses["404"] != 2 || f.Types["text/html"] == 0 || f.Hosts != 2 || f.Sites != 2 {
		t.Errorf("%+v", f)
	}
}

// absences.jsonl has refused links for each of the first 10,000 sites, and for all other sites
// together.
func TestRefusalsOfManySitesAreToldTogether(t *testing.T) {
	const sites = 10_000
	var page strings.Builder
	for i := range sites + 2 {
		fmt.Fprintf(&page, "<a href=http://h%05d.example/>", i)
	}
	fmt.Fprintf(&page, "<a href=http://h00000.example/2><a href=http://h%05d.example/2>", sites)
	dir := once(t, page.String(), func(o *crawler.Options) { o.Output = []crawler.Output{crawler.OutputLinks} })
	p := write(t, dir, provenance.Options{NoAudit: true})
	all := linesOf[provenance.Refusal](t, dir, provenance.AbsencesFile)
	if len(all) != sites+1 || p.Absences.Refused["outside"] != sites+4 {
		t.Fatalf("%d lines, %v", len(all), p.Absences.Refused)
	}
	for i, want := range map[int]provenance.Refusal{
		0:     {Refused: "outside", URLs: 3, Examples: []string{"http://h10000.example/", "http://h10001.example/", "http://h10000.example/2"}},
		1:     {Refused: "outside", Site: "http://h00000.example", URLs: 2, Examples: []string{"http://h00000.example/", "http://h00000.example/2"}},
		sites: {Refused: "outside", Site: "http://h09999.example", URLs: 1, Examples: []string{"http://h09999.example/"}},
	} {
		if diff := cmp.Diff(want, all[i]); diff != "" {
			t.Errorf("line %d: %s", i, diff)
		}
	}
}

// once crawls one page in one run, and returns the directory.
func once(t *testing.T, page string, change func(o *crawler.Options)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "once.crawl")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", page)
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
		change(&o)
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	return dir
}

// If a crawl has no links.jsonl, refused links are counted in the summary of its last run. If
// that run was killed, there are no counts.
func TestWithoutLinksTheLastRunCounts(t *testing.T) {
	dir := once(t, "<a href=http://b.example/>1</a><a rel=nofollow href=/2>2</a>", func(*crawler.Options) {})
	a := write(t, dir, provenance.Options{}).Absences
	if want := map[string]int64{"outside": 1, "nofollow": 1}; a.Source != provenance.SourceLastRun || !maps.Equal(a.SkippedLinks, want) || len(a.Refused) != 0 {
		t.Errorf("%+v", a)
	}
}

// If there are more seeds than provenance.json lists, Write makes a file of them.
func TestManySeedsHaveAFile(t *testing.T) {
	const more = 7
	dir := once(t, "x", func(o *crawler.Options) {
		for i := range provenance.MostSeeds - 1 + more {
			o.Seeds = append(o.Seeds, fmt.Sprintf("http://a.example/%d", i))
		}
		o.Limit = 1
	})
	p := write(t, dir, provenance.Options{}).Provenance
	raw, err := os.ReadFile(filepath.Join(dir, provenance.SeedsFile))
	if err != nil || p.Seeds.File != provenance.SeedsFile || len(p.Seeds.List) != 0 || p.Seeds.Count != provenance.MostSeeds+more || p.Seeds.SHA256 != sum(raw) {
		t.Errorf("%+v, %v", p.Seeds, err)
	}
	if seeds, bad, err := crawler.ReadSeeds(bytes.NewReader(raw), "seeds"); len(seeds) != provenance.MostSeeds+more || len(bad) > 0 || err != nil {
		t.Errorf("%d seeds, %v, %v", len(seeds), bad, err)
	}
	if v := verified(t, dir, provenance.Check{}); len(v.Differences) > 0 {
		t.Errorf("%+v", v.Differences)
	}
	if p.Absences.Fates[frontier.LimitReached] != provenance.MostSeeds+more-1 {
		t.Errorf("%+v", p.Absences)
	}
}

// Each output has the SHA-256 of its bytes, and robots.jsonl has the copies that the audit
// used.
func TestTheDigestsAreThoseOfTheFiles(t *testing.T) {
	dir := crawled(t)
	p := write(t, dir, provenance.Options{}).Provenance
	named := map[string]bool{}
	for _, o := range p.Outputs {
		raw, err := os.ReadFile(filepath.Join(dir, o.Name))
		if err != nil || sum(raw) != o.SHA256 || int64(len(raw)) != o.Bytes {
			t.Errorf("%+v: %v", o, err)
		}
		named[filepath.Dir(o.Name)+"/"+filepath.Ext(o.Name)] = true
	}
	for _, want := range []string{"warc/.gz", "./.jsonl", "./.log", "./.cdxj", "./.db"} {
		if !named[want] {
			t.Errorf("%s: %v", want, named)
		}
	}
	h := sha256.New()
	for _, c := range linesOf[provenance.Copy](t, dir, provenance.RobotsFile) {
		fmt.Fprintf(h, "%s\t%s\t%d\t%s\n", c.Site, c.Fetched.Format(crawllog.MicroForm), c.Status, c.SHA256)
	}
	if is := hex.EncodeToString(h.Sum(nil)); is != p.Audit.CopiesSHA256 || p.Robots.Copies == 0 {
		t.Errorf("%s is not %s", is, p.Audit.CopiesSHA256)
	}
	r, err := audit.Dir(dir, audit.Options{})
	if err != nil || p.Audit.Verdict != provenance.Clean || p.Audit.Requests != r.Requests || p.Audit.LogSHA256 != r.LogSHA256 || len(p.Audit.Checks) == 0 {
		t.Errorf("%+v, %v", p.Audit, err)
	}
	if p = write(t, dir, provenance.Options{NoAudit: true}).Provenance; p.Audit.Verdict != provenance.NotAudited || p.Audit.Why == "" {
		t.Errorf("%+v", p.Audit)
	}
}

// If a line of the log cannot be read, provenance.json says that the crawl was not audited. All
// other facts are recorded.
func TestALogThatProvesNothingIsSaid(t *testing.T) {
	dir := crawled(t)
	file, err := os.OpenFile(filepath.Join(dir, store.LogFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("foreign\n"); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	adopt(t, dir)
	p := write(t, dir, provenance.Options{}).Provenance
	if p.Audit.Verdict != provenance.NotAudited || !strings.Contains(p.Audit.Why, "foreign or broken") || p.Figures.OtherLines != 1 || p.Absences.URLs != 3 {
		t.Errorf("%+v, %d other lines", p.Audit, p.Figures.OtherLines)
	}
}

// adopt makes the state accept the present crawl.log, as the next run would.
func adopt(t *testing.T, dir string) {
	t.Helper()
	db, err := store.Open(dir, store.Options{NoPages: true})
	if err == nil {
		err = errors.Join(db.Put("adopted", true), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// If captures were purged, provenance.json says how many, and when.
func TestWhatWasTakenOutIsTold(t *testing.T) {
	dir := crawled(t)
	before := write(t, dir, provenance.Options{}).Provenance
	places, err := places.Read(strings.NewReader("a.example\n"), "places")
	if err != nil {
		t.Fatal(err)
	}
	done, err := (&purge.Purge{Dir: dir, Places: places}).Run(t.Context())
	if err != nil || done.Entries == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	p := write(t, dir, provenance.Options{}).Provenance
	if before.Purge != nil || p.Purge == nil || p.Purge.URLs != int64(done.Entries) || time.Since(p.Purge.Last) > time.Hour || p.Absences.URLs < p.Purge.URLs {
		t.Errorf("%+v, and before %+v, of %d URLs", p.Purge, before.Purge, done.Entries)
	}
	sheet, err := os.ReadFile(filepath.Join(dir, provenance.DatasheetFile))
	if err != nil || !strings.Contains(string(sheet), "was taken out for its owner, last on "+p.Purge.Last.Format(time.RFC3339)) {
		t.Errorf("%v: %s", err, sheet)
	}
}

// If Write fails or is cancelled, all files are as before, and no temporary file is left.
func TestWhatCannotBeWrittenLeavesAllAsItWas(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	before := directory(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := provenance.Write(ctx, dir, provenance.Options{}); !errors.Is(err, enough) {
		t.Error(err)
	}
	if after := directory(t, dir); !maps.Equal(before, after) {
		t.Errorf("was %v, is %v", before, after)
	}
	if err := os.Rename(filepath.Join(dir, provenance.RobotsFile), filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, provenance.RobotsFile, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.Write(t.Context(), dir, provenance.Options{}); err == nil {
		t.Error("a directory was replaced")
	}
	if parts, err := filepath.Glob(filepath.Join(dir, ".*.tmp")); err != nil || len(parts) > 0 {
		t.Errorf("files left: %q", parts)
	}
}

// Write removes temporary files that a killed Write has left.
func TestPartsOfAKilledWriterAreRemoved(t *testing.T) {
	dir := crawled(t)
	part := filepath.Join(dir, "."+provenance.AbsencesFile+".ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp")
	if err := os.WriteFile(part, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, dir, provenance.Options{})
	if _, err := os.Stat(part); err == nil {
		t.Error("the file still exists")
	}
}

// directory returns the digests of all files in a directory, by name.
func directory(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = sum(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Write fails for a directory without a crawl, and for a running crawl.
func TestWhatIsNoCrawlHasNoProvenance(t *testing.T) {
	if _, err := provenance.Write(t.Context(), t.TempDir(), provenance.Options{}); !errors.Is(err, store.ErrNoCrawl) {
		t.Error(err)
	}
	if _, err := provenance.Verify(t.Context(), t.TempDir(), provenance.Check{}); !errors.Is(err, provenance.ErrNone) {
		t.Error(err)
	}
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var inUse *store.InUseError
	if _, err := provenance.Write(t.Context(), dir, provenance.Options{}); !errors.As(err, &inUse) {
		t.Error(err)
	}
	if _, err := provenance.Verify(t.Context(), dir, provenance.Check{}); !errors.As(err, &inUse) {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.Write(t.Context(), dir, provenance.Options{}); !errors.Is(err, store.ErrNoCrawl) {
		t.Error(err) // this directory has a state file, but no run has begun
	}
}

// A killed run is listed as killed: the last run from the state, and an earlier run from the
// first line of the next.
func TestARunThatWasKilledIsTold(t *testing.T) {
	killed := filepath.Join(t.TempDir(), "killed")
	once(t, "<a href=/1>1</a>", func(o *crawler.Options) {
		dir := o.Dir
		o.OnVisit = func(crawler.Visited) {
			time.Sleep(time.Second) // wait until the state is committed
			if _, err := os.Stat(killed); err != nil {
				if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	p := write(t, killed, provenance.Options{}).Provenance
	if p.Runs.All != 1 || p.Killed != 1 || p.Runs.List[0].How != provenance.HowKilled || !p.Runs.List[0].Ended.IsZero() || p.Runs.List[0].Build == "" {
		t.Errorf("%+v", p.Runs)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x").Page("/1", "x")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: killed, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	p = write(t, killed, provenance.Options{}).Provenance
	if p.Runs.All != 2 || p.Killed != 1 || p.Runs.List[0].How != provenance.HowKilled || p.Runs.List[1].How != string(crawler.EndDone) {
		t.Errorf("%+v", p.Runs)
	}
}

// If the lines about runs were removed from the log, provenance.json still has the runs, and
// how many bytes the log has lost.
func TestRunsAreKnownWithoutTheirLines(t *testing.T) {
	dir := crawled(t)
	if err := os.Truncate(filepath.Join(dir, store.LogFile), 0); err != nil {
		t.Fatal(err)
	}
	adopt(t, dir)
	p := write(t, dir, provenance.Options{}).Provenance
	if p.Runs.All != 2 || len(p.Runs.List) != 2 || p.Runs.List[0].How != string(crawler.EndLimit) || !p.Runs.List[0].Last.IsZero() {
		t.Errorf("%+v", p.Runs)
	}
}

// If there are more runs than a logReader remembers, all are counted.
func TestManyRunsAreCounted(t *testing.T) {
	const most, more = 10_000, 50 // numbers of runs that are listed and not listed; the crawl already has two
	dir := crawled(t)
	var runs strings.Builder
	for i := range most + more - 2 {
		fmt.Fprintf(&runs, "%s 0 - permesso:run - - unknown #000 - - - begin:clean\n", settle.Add(time.Duration(i)*time.Second).Format("2006-01-02T15:04:05.000Z"))
	}
	spoil(t, filepath.Join(dir, store.LogFile), func(b []byte) []byte { return append(b, runs.String()...) })
	adopt(t, dir)
	p := write(t, dir, provenance.Options{NoAudit: true}).Provenance
	if p.Runs.All != most+more || len(p.Runs.List) != 1000 || p.Runs.List[0].How != string(crawler.EndLimit) || p.Runs.List[2].How != provenance.HowItself || !p.Runs.List[2].Began.Equal(settle) {
		t.Errorf("%d runs, %d listed: %+v", p.Runs.All, len(p.Runs.List), p.Runs.List[:3])
	}
}

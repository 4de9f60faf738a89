package crawler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
)

// digestOfX is the SHA-1 of "x" in base 32.
const digestOfX = "sha1:CH3K3DWFFIUYJK5K7V6DWULFAN4FYIDS"

// The SHA-1 of a body takes longer than finding its links. It is computed only if an output or the
// program can use it.
func TestBodiesHaveADigestIfItIsUsed(t *testing.T) {
	var told string
	for name, c := range map[string]struct {
		change func(*crawler.Options)
		want   bool
	}{
		"in memory":              {nil, false},
		"in memory, and told of": {func(o *crawler.Options) { o.OnVisit = func(v crawler.Visited) { told += v.Fate.Digest } }, true},
		"in memory, and again":   {func(o *crawler.Options) { o.Revisit = revisit.Fixed{Every: 1000 * time.Hour} }, true},
		"in a directory":         {func(o *crawler.Options) { o.Dir, o.Output = t.TempDir(), []crawler.Output{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "x")
				crawl := newCrawl(t, w, c.change, "http://a.example/")
				pages := 0
				err := crawl.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
					if pages++; crawler.HasDigest(p) != c.want {
						t.Errorf("it has one: %v", !c.want)
					}
					crawl.Stop()
					return nil
				}))
				if err != nil || pages != 1 {
					t.Errorf("%d pages, %v", pages, err)
				}
			})
		})
	}
	if told != digestOfX {
		t.Errorf("OnVisit got %q", told)
	}
}

// ended is a Backlog that records the digests of entries that have ended.
type ended struct {
	frontier.Memory
	digest string
}

func (e *ended) Submit(c frontier.Completion) error {
	e.digest += c.Fate.Digest
	return e.Memory.Submit(c)
}

// A frontier with a Backlog of the program's own gets the digests.
func TestTheBacklogOfAJobGetsDigests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		b := &ended{Memory: frontier.NewMemory()}
		f, err := frontier.New(b, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		job, err := crawler.NewJob(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}, nil, crawler.JobDeps{Stop: f.Stop})
		if err != nil {
			t.Fatal(err)
		}
		defer job.Close()
		seed, err := frontier.ParseURL("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(frontier.Entry{URL: seed}); err != nil {
			t.Fatal(err)
		}
		visits(t, job, f)
		if b.digest != digestOfX {
			t.Errorf("the backlog got %q", b.digest)
		}
	})
}

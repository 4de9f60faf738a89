package metrics

import (
	"encoding/json"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/metrics.txt anew")

// Dashboards and alerts use these names, help texts and types, so they must not change. Every
// number of the status is different, so each figure must come from its own field.
func TestTheFiguresAreThoseThatWerePromised(t *testing.T) {
	var s crawler.Status
	fill(t, reflect.ValueOf(&s).Elem(), "")
	got, path := text(s), filepath.Join("testdata", "metrics.txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s says otherwise; read the difference of\n\tgo test ./crawler/metrics -run Promised -rewrite\n%s", path, got)
	}
}

// fill gives each field below v a value that depends on its path, and each map one entry.
func fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	number := int64(crc32.ChecksumIEEE([]byte(path)) % 1_000_000)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(t, v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, path+".key")
		fill(t, value, path+".value")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(path)
	case reflect.Uint8:
		v.SetUint(uint64(number) % uint64(frontier.Unknown))
	case reflect.Float64:
		v.SetFloat(float64(number) + 0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(number)
	case reflect.Uint64:
		v.SetUint(uint64(number))
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

// The figures have the form that Prometheus requires. Each name has a help text and a type before
// it. Names and labels have valid characters. Only counters end in _total. Units are base units. No
// line is repeated.
func TestTheFiguresAreInTheirForm(t *testing.T) {
	text := text(crawler.Status{
		State: crawler.StateRunning, Run: crawler.StatusRun{
			Pages: 7, Status: map[int]int{200: 7, 404: 1}, Errors: map[string]int{"a\"b\\c\nd": 1}, SkippedURLs: map[frontier.Code]int{frontier.RobotsDisallowed: 3}, SkippedLinks: map[frontier.Code]int{frontier.OutOfScope: 4},
		},
		Left: map[frontier.Code]int{frontier.Waiting: 2}, Polite: crawler.StatusPolite{LeastMargin: -1e-7},
		Sites:  crawler.StatusSites{Clocks: map[frontier.Clock]crawler.StatusClock{frontier.CrawlDelayClock: {Sites: 4}}},
		Memory: crawler.StatusMemory{Heap: 1 << 40}, Crawl: crawler.StatusCrawl{Done: 4, Queued: 5, Again: 6, Known: 15},
	})
	head := regexp.MustCompile(`^# HELP (permesso_[a-z_]+) [A-Z].*\.\n# TYPE (permesso_[a-z_]+) (counter|gauge)$`)
	sample := regexp.MustCompile(`^(permesso_[a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"\})? -?[0-9.]+(e[-+][0-9]+)?$`)
	lines, name, kind, seen := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), "", "", map[string]bool{}
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "# HELP") {
			m := head.FindStringSubmatch(lines[i] + "\n" + lines[i+1])
			if m == nil || m[1] != m[2] || seen[m[1]] || (m[3] == "counter") != strings.HasSuffix(m[1], "_total") {
				t.Fatalf("%s\n%s", lines[i], lines[i+1])
			}
			name, kind = m[1], m[3]
			seen[name] = true
			i++
			continue
		}
		m := sample.FindStringSubmatch(lines[i])
		if m == nil || m[1] != name || kind == "" || seen[m[1]+m[2]] && m[2] != "" {
			t.Errorf("%q", lines[i])
		} else if m[2] != "" {
			seen[m[1]+m[2]] = true
		}
	}
	for _, want := range []string{
		"permesso_pages_total 7", `permesso_answers_total{code="404"} 1`, `permesso_errors_total{stage="a\"b\\c\nd"} 1`, `permesso_skipped_urls_total{reason="refused"} 3`, `permesso_skipped_links_total{reason="outside"} 4`,
		`permesso_waiting_sites{clock="crawl-delay"} 4`, "permesso_early_requests_total 0", `permesso_state{state="running"} 1`,
		"permesso_queued_urls 5", "permesso_again_urls 6",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// The dashboard for Grafana shows each figure and no others, and its panels do not overlap.
func TestTheDashboardHasEachFigure(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	promised, err := os.ReadFile(filepath.Join("testdata", "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	figures, shown := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) `).FindAllStringSubmatch(string(promised), -1) {
		figures[m[1]] = true
	}
	labels := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)\{(\w+)=`).FindAllStringSubmatch(string(promised), -1) {
		labels[m[1]] = m[2]
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, of := range p.Targets {
			name := regexp.MustCompile(`permesso_\w+`).FindString(of.Expr)
			if shown[name] = true; !figures[name] {
				t.Errorf("%s: there is no figure %q", p.Title, name)
			}
			if by := regexp.MustCompile(`by \((\w+)\)`).FindStringSubmatch(of.Expr); by != nil && labels[name] != by[1] {
				t.Errorf("%s: %s has the label %q, not %q", p.Title, name, labels[name], by[1])
			}
			if total := strings.HasSuffix(name, "_total"); total != strings.Contains(of.Expr, "rate(") && name != "permesso_early_requests_total" {
				t.Errorf("%s: %s", p.Title, of.Expr)
			}
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" || at[0] > 23 {
					t.Fatalf("%s is over %s, or beyond the edge", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
	}
	for name := range figures {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A table is the result of a scenario.
type table struct {
	Scenario scenario
	Rounds   int
	Rows     []row
}

// A row is one contestant in one case: medians of all rounds. Of remarks it has the worst.
type row struct {
	Case, Name, About string
	CPU               float64 // seconds per 1,000 pages
	Floor             float64 // CPU divided by that of the first contestant of the case
	Rate              float64 // pages/s
	Memory            int64   // bytes
	Disk              int64   // bytes that its files take on the disk
	Keeps             []string
	Cores             float64 // used by the contestant
	Bound             float64 // share of the physical bound; 0 without a pause
	Busy              float64 // share of all CPUs that contestant and web took together
	Others            float64 // share of all CPUs that other processes took at the same time
	Early             int64
	Late              Lateness // as the web saw it: medians, and the worst of all
	Log               *Logged  // from crawl.log: the same, and causes of all rounds together
	Conns             int64
	Goroutines        int
	Seen              int
	After             bool    // another contestant has crawled the same web before it
	Requests, KB      float64 // requests, and kB of bodies, per page
	Remarks           []string
	Runs              []result
}

func newRow(bc *benchCase, c *contestant, rs []result) row {
	r := row{Case: bc.label, Name: c.name, About: c.about, After: c.after != "", Keeps: c.keeps, Runs: rs}
	r.CPU = median(rs, func(r result) float64 { return r.CPU.Seconds() * 1000 / float64(max(1, r.Web.Pages)) })
	r.Rate = median(rs, func(r result) float64 { return float64(r.Web.Pages) / r.Web.Elapsed.Seconds() })
	r.Memory = int64(median(rs, func(r result) float64 { return float64(r.Memory) }))
	r.Disk = int64(median(rs, func(r result) float64 { return float64(r.Disk) }))
	r.Cores = median(rs, func(r result) float64 { return r.CPU.Seconds() / r.Web.Elapsed.Seconds() })
	r.Busy = median(rs, func(r result) float64 { return (r.CPU + r.WebCPU).Seconds() / r.Web.Elapsed.Seconds() }) / float64(runtime.NumCPU())
	r.Requests = median(rs, func(r result) float64 { return float64(r.Web.Requests) / float64(r.Web.Pages) })
	r.KB = median(rs, func(r result) float64 { return float64(r.Web.Bytes) / 1000 / float64(r.Web.Pages) })
	r.Others = median(rs, others)
	if bc.web.Delay > 0 {
		r.Bound = median(rs, func(r result) float64 { return share(bc, &r) })
		r.Early = most(rs, func(r result) int64 { return r.Web.Early })
		r.Late = middleLateness(rs, func(r *result) *Lateness { return &r.Web.Late })
		r.Log = sumLogs(rs)
	}
	r.Conns = most(rs, func(r result) int64 { return r.Web.Conns })
	r.Goroutines = int(most(rs, func(r result) int64 { return int64(r.Report.Goroutines) }))
	r.Seen = int(most(rs, func(r result) int64 { return int64(r.Report.Seen) }))
	r.Remarks = remarks(bc, c, rs)
	return r
}

// remarks returns what went wrong, in the worst of the runs.
func remarks(bc *benchCase, c *contestant, rs []result) (list []string) {
	for _, remark := range []struct {
		text string
		n    int64
	}{
		{"loses %d pages", most(rs, func(r result) int64 { return bc.expected() - r.Web.Pages })},
		{"fetches %d pages again", most(rs, func(r result) int64 { return r.Web.Again })},
		{"asks for %d forbidden URLs", most(rs, func(r result) int64 { return r.Web.Forbidden })},
	} {
		if remark.n > 0 {
			list = append(list, fmt.Sprintf(remark.text, remark.n))
		}
	}
	if n := most(rs, func(r result) int64 { return r.Web.Early }); n > 0 {
		by := time.Duration(most(rs, func(r result) int64 { return int64(r.Web.TooEarly) }))
		list = append(list, fmt.Sprintf("asks %d times too early, by up to %v", n, by.Round(10*time.Microsecond)))
	}
	for _, res := range rs {
		if remark := "ends with: " + res.Failed; res.Failed != "" && !slices.Contains(list, remark) {
			list = append(list, remark)
		}
	}
	if !c.floor && c.after == "" && most(rs, func(r result) int64 { return -r.Web.Robots }) == 0 {
		list = append(list, "does not ask for robots.txt")
	}
	return list
}

// others returns the share of all CPUs that other processes took in a run.
func others(r result) float64 {
	if r.Machine == 0 {
		return 0
	}
	return max(0, (r.Machine-r.CPU-r.WebCPU).Seconds()/r.Wall.Seconds()/float64(runtime.NumCPU()))
}

// share returns how near a run came to its bound. In the bound each host answers, pauses, and
// answers again, with requests - hosts pauses in total. The duration of an answer is measured
// by the web, from the request until the whole answer was sent. It is the same for all
// contestants, so none of them gains by reading slowly.
func share(bc *benchCase, r *result) float64 {
	response := r.Web.Served / time.Duration(max(1, r.Web.Requests))
	bound := float64(bc.web.Hosts) / (bc.web.Delay + response).Seconds()
	return float64(r.Web.Requests-int64(bc.web.Hosts)) / r.Web.Elapsed.Seconds() / bound
}

func median(rs []result, of func(result) float64) float64 {
	var list []float64
	for _, r := range rs {
		if v := of(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func most(rs []result, of func(result) int64) int64 {
	n := int64(math.MinInt64)
	for _, r := range rs {
		n = max(n, of(r))
	}
	return n
}

// relate fills in Floor.
func (t *table) relate() {
	first := map[string]float64{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if first[r.Case] == 0 {
			first[r.Case] = r.CPU
		}
		if first[r.Case] > 0 {
			r.Floor = r.CPU / first[r.Case]
		}
	}
}

// renderMarkdown returns all tables, and what they were measured on.
func renderMarkdown(tables []table, env string) string {
	var b strings.Builder
	for i := range tables {
		t := &tables[i]
		t.relate()
		fmt.Fprintf(&b, "### %s\n\n%s\n", t.Scenario.name, t.Scenario.about)
		for _, bc := range t.Scenario.cases {
			fmt.Fprintf(&b, "%s\n", bc.describe())
		}
		fmt.Fprintf(&b, "Medians of %d interleaved rounds; what goes wrong is the worst of them.\n\n", t.Rounds)
		t.markdown(&b)
		b.WriteString("\n")
		t.lateness(&b)
		b.WriteString(t.quiet())
	}
	b.WriteString(env)
	return b.String()
}

func (bc *benchCase) describe() string {
	w := &bc.web
	s := fmt.Sprintf("Web of %d hosts x %d pages x %d bytes, %d links a page", w.Hosts, w.Pages, w.Size, w.Links+w.Cross)
	if w.Delay > 0 {
		s += fmt.Sprintf(", %v pause", w.Delay)
	}
	if bc.limit > 0 {
		s += fmt.Sprintf(", %d pages fetched", bc.limit)
	}
	return s + fmt.Sprintf(", %d requests at once.", bc.concurrency)
}

func (t *table) markdown(b *strings.Builder) {
	paused := slices.ContainsFunc(t.Rows, func(r row) bool { return r.Bound > 0 })
	again := slices.ContainsFunc(t.Rows, func(r row) bool { return r.After })
	several := len(t.Scenario.cases) > 1
	write := func(cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	head := []string{"contestant", "CPU s / 1,000 pages", "ratio", "pages/s", "cores", "memory MiB", "disk MiB", "connections", "goroutines", "keeps"}
	align := []string{"---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---"}
	if several {
		head, align = slices.Insert(head, 0, "case"), slices.Insert(align, 0, "---")
	}
	if paused {
		head = append(head, "of the bound", "held by", "early", "late ms, median", "p99", "worst")
		align = append(align, "---:", "---", "---:", "---:", "---:", "---:")
	}
	if again {
		head, align = append(head, "requests / page", "kB of bodies / page"), append(align, "---:", "---:")
	}
	write(append(head, "remarks")...)
	write(append(align, "---")...)
	for _, r := range t.Rows {
		cells := []string{
			r.Name, fmt.Sprintf("%.3f", r.CPU), fmt.Sprintf("%.1f", r.Floor), fmt.Sprintf("%.0f", r.Rate), fmt.Sprintf("%.2f", r.Cores),
			fmt.Sprintf("%.1f", float64(r.Memory)/(1<<20)),
			fmt.Sprintf("%.1f", float64(r.Disk)/(1<<20)), strconv.FormatInt(r.Conns, 10), dashZero(r.Goroutines), keeps(r.Keeps),
		}
		if several {
			cells = slices.Insert(cells, 0, r.Case)
		}
		if paused {
			cells = append(cells, fmt.Sprintf("%.3f", r.Bound), r.heldBy(), strconv.FormatInt(r.Early, 10))
			cells = append(cells, r.Late.cells()...)
		}
		if again {
			cells = append(cells, fmt.Sprintf("%.3f", r.Requests), fmt.Sprintf("%.2f", r.KB))
		}
		write(append(cells, strings.Join(r.Remarks, ", "))...)
	}
	b.WriteString("\n")
	named := map[string]bool{}
	for _, r := range t.Rows {
		if !named[r.Name] {
			named[r.Name] = true
			fmt.Fprintf(b, "- %s: %s\n", r.Name, r.About)
		}
	}
	b.WriteString("\nWhat each keeps:")
	for i, k := range kept {
		fmt.Fprintf(b, "%s %s: %s", map[bool]string{false: ";"}[i == 0], k.word, k.means)
	}
	b.WriteString(".\n")
}

// quiet says how much CPU other processes took.
func (t *table) quiet() string {
	most := -1.0
	for _, r := range t.Rows {
		for _, run := range r.Runs {
			if run.Machine > 0 {
				most = max(most, others(run))
			}
		}
	}
	if most < 0 {
		return ""
	}
	return fmt.Sprintf("Other processes took %.0f %% of the CPUs at most, in any run.\n\n", 100*most)
}

// heldBy returns what limited the speed of a run: the clocks of the hosts, a busy CPU, or
// neither of them.
func (r *row) heldBy() string {
	busy := fmt.Sprintf("CPU %.0f %% busy", 100*min(1, r.Busy+r.Others))
	if r.Others >= 0.01 {
		busy += fmt.Sprintf(", %.0f %% by others", 100*r.Others)
	}
	switch {
	case r.Bound >= 0.99:
		return "clocks"
	case r.Busy+r.Others >= 0.9:
		return "CPU (" + busy + ")"
	}
	return "neither (" + busy + ")"
}

func keeps(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func dashZero(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// environment returns the versions of the programs and the machine.
func environment(crawl string) string {
	versions := []string{runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "github.com/gocolly/colly/v2", "github.com/PuerkitoBio/fetchbot", "github.com/PuerkitoBio/gocrawl",
				"github.com/geziyor/geziyor", "github.com/PuerkitoBio/goquery", "golang.org/x/net":
				versions = append(versions, d.Path+" "+d.Version)
			}
		}
	}
	for _, c := range contestants() {
		if c.name == "crawl" {
			c.path = crawl
		}
		if c.command != nil && c.available() {
			versions = append(versions, programVersion(&c))
		}
	}
	return fmt.Sprintf("%d CPUs, shared by contestant and web, %s/%s. %s.\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, strings.Join(versions, ", "))
}

func programVersion(c *contestant) string {
	flag := "--version"
	if c.name == "scrapy" || c.name == "crawl" {
		flag = "version"
	}
	out, err := exec.Command(c.program(), flag).Output()
	if err != nil {
		return c.name
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// A bar of the SVG, in pixels.
type bar struct {
	Y, Width    int
	Text, Value string
	Ours        bool
}

type chart struct {
	Title  string
	Y      int
	Bars   []bar
	Height int
}

// renderSVG draws the CPU of each row as a bar.
func renderSVG(tables []table) []byte {
	const line, width, gap = 22, 420, 34
	y := 0
	var charts []chart
	for i := range tables {
		t := &tables[i]
		c := chart{Title: t.Scenario.name + ": CPU s per 1,000 pages", Y: y + 20}
		y += gap
		longest := 0.0
		for _, r := range t.Rows {
			longest = max(longest, r.CPU)
		}
		for _, r := range t.Rows {
			label := r.Name
			if len(t.Scenario.cases) > 1 {
				label += ", " + r.Case
			}
			c.Bars = append(c.Bars, bar{
				Y: y, Text: label, Value: fmt.Sprintf("%.3f", r.CPU), Ours: strings.HasPrefix(r.Name, "permesso") || r.Name == "crawl",
				Width: max(1, int(r.CPU/max(longest, 1e-9)*width)),
			})
			y += line
		}
		charts = append(charts, c)
	}
	var b bytes.Buffer
	if err := drawing.Execute(&b, struct {
		Height int
		Charts []chart
	}{y + 10, charts}); err != nil {
		panic(err) // the template and its data are constant
	}
	return b.Bytes()
}

var drawing = template.Must(template.New("svg").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{{.Height}}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
{{range .Charts}}<text x="10" y="{{.Y}}" font-weight="bold">{{.Title}}</text>
{{range .Bars}}<g transform="translate(0 {{.Y}})"><text x="230" y="13" text-anchor="end">{{.Text}}</text><rect x="240" width="{{.Width}}" height="16" fill="{{if .Ours}}#c2410c{{else}}#94a3b8{{end}}"/><text x="{{.Width}}" y="13" dx="246">{{.Value}}</text></g>
{{end}}{{end}}</svg>
`))

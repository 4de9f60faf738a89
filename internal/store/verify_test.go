package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

func TestFactsKeepTheirPlaces(t *testing.T) {
	want := fact{key: "url", from: ofLog, at: 42, value: "200 a\x00b"}
	if got := parseFact([]byte("url\x00" + string(rune(ofLog)) + "\x0042\x00200 a\x00b")); got != want {
		t.Errorf("%+v", got)
	}
}

// Millions of pages may repeat one answer, such as the answer for missing pages. Verify does
// not hold their facts in memory.
func TestWhatRepeatsAnAnswerIsNotHeld(t *testing.T) {
	for what, absent := range map[string]map[string]int{"an answer": {}, "a file that was moved": {"x.warc.gz": 1}} {
		var problems []string
		v := &verifier{ctx: t.Context(), Check: Check{Problem: func(err error) { problems = append(problems, err.Error()) }}, facts: newFacts(t.TempDir()), absent: absent}
		key := referredKey("http://a.example/none", time.Unix(1, 0))
		if len(absent) == 0 {
			v.know(key, ofRecord, 0, "x.warc.gz")
		}
		for i := range int64(1000) {
			v.know(key, ofRevisit, i, revisitFact("http://a.example/none", time.Unix(1, 0), "x.warc.gz"))
		}
		c, most := &comparer{v: v}, 0
		_, err := v.facts.sorter.WriteTo(&lineWriter{each: func(line []byte) error {
			err := c.add(line)
			most = max(most, len(c.all))
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if c.group(); most > 1 || len(problems) > 0 {
			t.Errorf("%s: %d are in memory, %.100q", what, most, fmt.Sprint(problems))
		}
		v.facts.close()
	}
}

// Verify compares what several files say about the same thing, and reports contradictions with
// the file and the position.
func TestFactsAreCompared(t *testing.T) {
	const u = "http://a.example/"
	url, capture, answer := urlKey(u), captureKey("x.warc.gz", 5), referredKey(u, time.Unix(1, 0))
	page := func(value string) fact { return fact{url, ofPage, 3, value} }
	log := func(value string) fact { return fact{url, ofLog, 4, value} }
	links := func(value string) fact { return fact{url, ofLinks, 5, value} }
	fate := func(value string) fact { return fact{url, ofFate, 0, value} }
	at := func(from source, value string) fact { return fact{capture, from, 6, value} }
	fetched := []fact{fate("200 d"), page("2 7 200 d"), log("7"), links("2")}
	kept := []fact{at(ofRecord, "9 7 "+u+" 200\tline"), at(ofPage, "9 7 "+u+" 200"), at(ofAnswer, u), at(ofPart, "line"), at(ofIndex, "line")}
	const there = "/c/warc/x.warc.gz, byte 5"
	but := func(all []fact, from source, instead ...fact) []fact {
		i := slices.IndexFunc(all, func(f fact) bool { return f.from == from })
		return slices.Concat(all[:i], instead, all[i+1:])
	}
	part := func(v *verifier) {
		v.state.Growing[PagesFile], v.state.Growing[LinksFile] = state.Mark{Part: true}, state.Mark{Part: true}
	}
	absent := func(v *verifier) { clear(v.present) }
	for name, c := range map[string]struct {
		facts []fact
		also  func(*verifier)
		want  []string
	}{
		"a page":                 {fetched, nil, nil},
		"another's crawl":        {[]fact{page("2 7 200 d")}, func(v *verifier) { v.crawled = false }, nil},
		"an unknown URL":         {but(fetched, ofFate), nil, []string{"/c/crawl.log:4: " + u + " was asked for, and state.db does not", "/c/pages.jsonl:3: " + u + " has this page, and state.db does not"}},
		"another request":        {but(fetched, ofLog, log("8")), nil, []string{"/c/pages.jsonl:3: " + u + " has no line in crawl.log for the request"}},
		"the second request":     {but(fetched, ofLog, log("8"), log("7")), nil, nil},
		"no request":             {but(fetched, ofLog), nil, []string{"/c/pages.jsonl:3: " + u + " has no line in crawl.log", "state.db: " + u + " was fetched, and crawl.log has no line"}},
		"another page":           {but(fetched, ofPage, page("2 7 200 e")), nil, []string{"state.db: " + u + " was fetched (200 d), and pages.jsonl has no such page"}},
		"a second page":          {but(fetched, ofPage, page("0 7 200 e"), page("2 7 200 d")), nil, nil},
		"pages in part":          {but(fetched, ofPage, page("3 7 200 e")), part, nil},
		"links in part":          {but(fetched, ofLinks), func(v *verifier) { v.state.Growing[LinksFile] = state.Mark{Part: true} }, nil},
		"links of no run":        {but(fetched, ofLinks), func(v *verifier) { delete(v.state.Growing, LinksFile) }, nil},
		"what was not fetched":   {[]fact{fate(""), log("7")}, nil, nil},
		"no links":               {but(fetched, ofLinks), nil, []string{"/c/pages.jsonl:3: " + u + " has 2 links and none in links.jsonl"}},
		"more links":             {but(fetched, ofLinks, links("3")), nil, []string{"/c/links.jsonl:5: " + u + " has 3 links here, and 2 by pages.jsonl"}},
		"links of no page":       {[]fact{links("1"), fate("")}, nil, []string{"/c/links.jsonl:5: " + u + " has 1 links here, and 0 by pages.jsonl"}},
		"links in two":           {but(but(fetched, ofLinks, links("1"), links("3")), ofPage, page("2 7 200 d"), page("2 7 200 d")), nil, nil},
		"an answer":              {kept, nil, nil},
		"another answer":         {but(kept, ofPage, at(ofPage, "9 8 "+u+" 200")), nil, []string{"/c/pages.jsonl:6: the answer at " + there + " is a different one"}},
		"an answer without":      {but(kept, ofRecord, at(ofRecord, "9 7 "+u+"\tline")), nil, nil},
		"a longer URL":           {but(but(kept, ofRecord, at(ofRecord, "9 7 "+u+"\tline")), ofPage, at(ofPage, "9 7 "+u+"x 200")), nil, []string{"is a different one"}},
		"another's answer":       {but(kept, ofAnswer, at(ofAnswer, "other")), nil, []string{"state.db: the answer at " + there + " is not that of other"}},
		"an answer of nothing":   {[]fact{at(ofRecord, "9 7\tline"), at(ofAnswer, u), at(ofPart, "line"), at(ofIndex, "line")}, nil, []string{"is not that of " + u}},
		"not in the part":        {but(kept, ofPart), nil, []string{"/c/index.part has no line for " + there}},
		"no part":                {but(kept, ofPart), func(v *verifier) { delete(v.state.Growing, indexPart) }, nil},
		"not in the index":       {but(kept, ofIndex), nil, []string{"/c/index.cdxj has no line for " + there}},
		"no index":               {but(kept, ofIndex), func(v *verifier) { v.indexed = false }, nil},
		"another line":           {but(kept, ofIndex, at(ofIndex, "lime")), nil, []string{"/c/index.cdxj:6: it does not match the record at " + there}},
		"an answer to HEAD":      {[]fact{at(ofRecord, "9 7 "+u+" 200\t"), at(ofPage, "9 7 "+u+" 200"), at(ofAnswer, u)}, nil, nil},
		"HEAD in the index":      {[]fact{at(ofRecord, "9 7 "+u+" 200\t"), at(ofIndex, "line")}, nil, []string{"/c/index.cdxj:6: it does not match the record at " + there}},
		"a line twice":           {but(kept, ofPart, at(ofPart, "line"), at(ofPart, "line")), nil, []string{"/c/index.part:6: it is a duplicate"}},
		"no record":              {but(kept, ofRecord), nil, []string{"/c/index.cdxj:6: there is no answer at " + there, "/c/index.part:6: there is no answer at " + there, "/c/pages.jsonl:6: there is no answer at " + there, "state.db: the answer of " + u + " is not at " + there}},
		"no file":                {but(kept, ofRecord), absent, []string{"/c/warc/x.warc.gz is missing, with 1 answers in it"}},
		"a file that was moved":  {but(kept, ofRecord), func(v *verifier) { absent(v); v.Moved = true }, nil},
		"a repeated answer":      {[]fact{{answer, ofRecord, 1, "x.warc.gz"}, {answer, ofRevisit, 6, revisitFact(u, time.Unix(1, 0), "y.warc.gz")}, {answer, ofPayload, 0, u}}, nil, nil},
		"repeats what is purged": {[]fact{{answer, ofPurged, 1, ""}, {answer, ofRevisit, 6, revisitFact(u, time.Unix(1, 0), "y.warc.gz")}}, nil, nil},
		"repeats nothing":        {[]fact{{answer, ofRevisit, 6, revisitFact(u, time.Unix(1, 0), "y.warc.gz")}}, nil, []string{"/c/warc/y.warc.gz, byte 6: it repeats an answer of " + u + " that is neither in the archive nor in an earlier crawl that can be found: bring back the crawl that has it"}},
		"repeats what was here":  {[]fact{{answer, ofRevisit, 6, revisitFact(u, time.Unix(1, 0), "y.warc.gz")}, {answer, ofPayload, 0, u}}, nil, []string{"/c/warc/y.warc.gz, byte 6: it repeats an answer of " + u, "state.db: an answer of " + u + " was archived"}},
		"a first that is gone":   {[]fact{{answer, ofPayload, 0, u}}, nil, []string{"state.db: an answer of " + u + " was archived, and is not"}},
		"gone with its file":     {[]fact{{answer, ofPayload, 0, u}}, func(v *verifier) { v.absent["x.warc.gz"] = 3; v.Moved = true }, nil},
		"a file without a name":  {[]fact{{captureKey("", 1), ofPart, 6, "line"}}, nil, []string{"/c/warc is missing, with 1 answers"}},
		"many files":             {[]fact{{captureKey("a b.warc.gz", 1), ofPart, 6, "line"}, {captureKey("a b.warc.gz", 2), ofPart, 7, "line"}}, nil, []string{"/c/warc/a b.warc.gz is missing, with 2 answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			v := &verifier{ctx: t.Context(), dir: "/c", facts: newFacts(t.TempDir()), crawled: true, indexed: true, present: map[string]bool{"x.warc.gz": true}, absent: map[string]int{}}
			defer v.facts.close()
			v.state.Growing = state.Marks{PagesFile: {}, LinksFile: {}, indexPart: {Length: 1}}
			v.Problem = func(err error) {
				var index *IndexError
				if ofIndex := strings.HasPrefix(err.Error(), "/c/index."); errors.As(err, &index) != ofIndex {
					t.Errorf("is of the index alone: %v; %v", !ofIndex, err)
				}
				var away *MissingAnswerError
				if elsewhere := name == "repeats nothing"; errors.As(err, &away) != elsewhere || elsewhere && v.done.Away != 1 {
					t.Errorf("is of another crawl alone: %v; %v, %d away", elsewhere, err, v.done.Away)
				}
				got = append(got, err.Error())
			}
			if c.also != nil {
				c.also(v)
			}
			for _, f := range c.facts {
				v.know(f.key, f.from, f.at, f.value)
			}
			if err := v.compare(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.EqualFunc(got, c.want, strings.Contains) || v.done.Problems != len(got) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if v.Moved && (len(v.done.Moved) != 1 || v.done.Moved[0] != "x.warc.gz") {
				t.Errorf("moved: %v", v.done.Moved)
			}
		})
	}
}

// If the facts do not fit on the disk, Verify compares nothing and returns the error.
func TestFactsWithoutRoomEndTheCheck(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "none")
	v := &verifier{ctx: t.Context(), dir: "/c", facts: &facts{sorter: cdxj.NewSorter(temp, 1)}, crawled: true}
	v.Problem = func(err error) { t.Error(err) }
	for n := range int64(3) {
		v.know(urlKey("http://a.example/"), ofLog, n, "7")
	}
	if err := v.compare(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), temp) || err != v.facts.err {
		t.Errorf("%v, the first was %v", err, v.facts.err)
	}
	first := v.facts.err
	v.know(urlKey("http://a.example/"), ofLog, 4, "7")
	if v.facts.err != first {
		t.Errorf("%v, the first was %v", v.facts.err, first)
	}
	// Write so many sorted runs that merging them needs the disk, too.
	temp = t.TempDir()
	v.facts = &facts{sorter: cdxj.NewSorter(temp, 1)}
	defer v.facts.close()
	for n := range int64(65) {
		v.know(urlKey("http://a.example/"), ofLog, n, "7")
	}
	if err := os.Remove(temp); err != nil {
		t.Skip("a directory of open files cannot be removed here: ", err)
	}
	if err := v.compare(); !errors.Is(err, os.ErrNotExist) || v.facts.err != nil {
		t.Errorf("%v, %v", err, v.facts.err)
	}
}

// If a file cannot be read at all, Verify returns an error instead of reporting a problem.
func TestAVerificationEndsWhereNothingCanBeRead(t *testing.T) {
	whole := indexed(t)
	files, err := ArchiveFiles(whole)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	archived := filepath.Join(ArchiveDir, filepath.Base(files[0]))
	for _, name := range []string{PagesFile, LinksFile, indexPart, IndexFile, LogFile, archived, ArchiveDir} {
		for what, spoil := range map[string]func(path string) error{
			"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
			"a loop":      func(path string) error { return os.Symlink(filepath.Base(path), path) },
		} {
			if name == ArchiveDir && what == "a directory" {
				continue
			}
			dir := crash(t, whole)
			path := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(path), spoil(path)); err != nil {
				t.Skip("no loop can be made here: ", err)
			}
			if _, err := Verify(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s is %s: %v", name, what, err)
			}
		}
	}
}

// Some lines of the log are about URLs that are not in the state. Verify accepts them.
func TestLinesOfTheLogThatAreOfNoEntry(t *testing.T) {
	const url = "http://a.example/x"
	run := crawllog.Line{URL: crawllog.RunURL, Size: -1}
	for name, c := range map[string]struct {
		lines []crawllog.Line
		want  int
	}{
		"a request":               {[]crawllog.Line{run, {URL: url}}, 1},
		"two requests":            {[]crawllog.Line{run, {URL: url}, {URL: url + "y"}}, 2},
		"a request of no crawl":   {[]crawllog.Line{{URL: url}}, 0},
		"a site that is given up": {[]crawllog.Line{run, {URL: url, Annotations: []string{"queued:7"}}}, 0},
		"a request for a file":    {[]crawllog.Line{run, {URL: url, Hops: "LP"}}, 0},
		"after a prerequisite":    {[]crawllog.Line{run, {URL: url, Hops: "PL"}}, 1},
		"runs":                    {[]crawllog.Line{run, run}, 0},
	} {
		db := open(t, t.TempDir())
		for _, l := range c.lines {
			l.Time = time.Unix(1893456000, 0)
			if err := db.Log().Write(&l); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		v, err := Verify(t.Context(), db.Dir(), func(err error) { got = append(got, err.Error()) })
		if err != nil || len(got) != c.want || v.LogLines != len(c.lines) || v.Problems != c.want {
			t.Errorf("%s: %+v, %q, %v", name, v, got, err)
		}
		for i, problem := range got {
			if want := fmt.Sprintf("%s:%d: %s", filepath.Join(db.Dir(), LogFile), i+2, url); !strings.HasPrefix(problem, want) {
				t.Errorf("%s: %s, want %s", name, problem, want)
			}
		}
	}
}

// Verify makes facts of all files, with the numbers of their lines.
func TestFilesBecomeFacts(t *testing.T) {
	dir := t.TempDir()
	v := &verifier{ctx: t.Context(), dir: dir, facts: newFacts(t.TempDir())}
	defer v.facts.close()
	var problems []string
	v.Problem = func(err error) { problems = append(problems, strings.TrimPrefix(err.Error(), dir)) }
	v.state.Growing = state.Marks{}
	at := "2030-01-02T03:04:05.000006Z"
	const entry = `example,a)/ 20300102030405 {"url":"http://a.example/","status":"200","length":"7","offset":"5","filename":"x.warc.gz"}`
	const earlier = `example,a)/ 20290102030405 {"url":"http://a.example/","status":"200","length":"7","offset":"12","filename":"x.warc.gz"}`
	log := crawllog.Line{URL: "http://a.example/", Time: time.Unix(1893456000, 0), Start: time.Unix(1893456000, 7_000_000), Annotations: []string{"start:" + at}}
	run := crawllog.Line{URL: crawllog.RunURL, Time: time.Unix(1893456000, 0), Size: -1}
	for name, text := range map[string]string{
		PagesFile: `{"url":"http://a.example/","time":"` + at + `","status":200,"digest":"d","links":2,"warc":"x.warc.gz","offset":5,"length":7}` + "\n[]\n" +
			`{"url":"http://b.example/","time":"` + at + `","status":404,"body":"` + strings.Repeat("x", 9<<20) + `"}` + "\n",
		LinksFile: `{"from":"a","to":"1","hop":"L"}` + "\n" + `{"from":"a","to":"2","hop":"E"}` + "\n" + `{"from":"a","to":"3","hop":"L"}` + "\n" +
			`{"from":"b","to":"4","hop":"R"}` + "\n{\n" + `{"from":"","to":"5","hop":"L"}` + "\n" + `{"from":"c","to":"","hop":"L"}` + "\n" + `{"from":"c","to":"6","hop":"L"}` + "\n",
		indexPart: entry + "\n" + earlier + "\nx\n",
		IndexFile: entry + "\n" + earlier + "\n",
		LogFile:   string(run.Append(nil)) + string(log.Append(nil)) + "x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		v.state.Growing[name] = state.Mark{}.Plus([]byte(text))
	}
	v.state.Index = state.IndexMarks{Part: v.state.Growing[indexPart], Index: v.state.Growing[IndexFile]}
	if err := v.outputs(); err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := v.facts.sorter.WriteTo(&lineWriter{each: func(line []byte) error {
		got = append(got, strings.TrimSuffix(strings.ReplaceAll(string(line), "\x00", "|"), "\n"))
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	const five, twelve = "A x.warc.gz 00000000000000000005", "A x.warc.gz 00000000000000000012"
	want := []string{
		five + "|g|1|7 1893553445000006 http://a.example/ 200", five + "|i|1|" + entry, five + "|p|1|" + entry,
		twelve + "|i|2|" + earlier, twelve + "|p|2|" + earlier,
		"U a|l|1|2", "U b|l|4|0", "U c|l|8|1",
		"U http://a.example/|c|2|1893553445000006", "U http://a.example/|g|1|2 1893553445000006 200 d", "U http://b.example/|g|3|0 1893553445000006 404 ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("facts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantProblems := []string{
		"/pages.jsonl:2: json", "/links.jsonl:5: unexpected end", "/links.jsonl:6: a link without both URLs", "/links.jsonl:7: a link without both URLs",
		"/index.part:3: CDXJ", "/crawl.log:3: crawl.log: 1 fields", "/index.cdxj:2: the line sorts before the one above it",
	}
	if !slices.EqualFunc(problems, wantProblems, strings.HasPrefix) || v.done.Problems != len(problems) {
		t.Errorf("%d problems, %q, want %q", v.done.Problems, problems, wantProblems)
	}
	if v.done.Pages != 3 || v.done.LogLines != 3 || !v.crawled || !v.indexed {
		t.Errorf("%+v, crawled %v, indexed %v", v.done, v.crawled, v.indexed)
	}
}

// If a run wrote no pages, missing pages are no problem. If all runs wrote pages, each fetched
// URL must have one.
func TestPagesThatNoRunHasWrittenAreNotMissed(t *testing.T) {
	fetch := func(db *DB, path string) {
		t.Helper()
		e, at := entry(t, "http://a.example/"+path), time.Now()
		var buf [1]frontier.Entry
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{e}}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		if n, err := db.Read(e.URL.Site(), at, buf[:]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		err := errors.Join(
			db.Log().Write(&crawllog.Line{Time: at, Size: -1, URL: crawllog.RunURL}),
			db.Log().Write(&crawllog.Line{Time: at, Start: at, Status: 200, URL: e.URL.String()}),
			db.Submit(frontier.Completion{Site: e.URL.Site(), Entry: buf[0], Fate: frontier.Fate{Code: frontier.Fetched, Status: 200}}))
		if err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		runs []bool // for each run, whether it writes pages
		want int
	}{{[]bool{true}, 1}, {[]bool{true, true}, 2}, {[]bool{false}, 0}, {[]bool{false, true}, 0}, {[]bool{true, false}, 0}} {
		dir := t.TempDir()
		for n, pages := range c.runs {
			db, err := Open(dir, Options{Gather: -1, NoPages: !pages})
			if err != nil {
				t.Fatal(err)
			}
			fetch(db, fmt.Sprint(n))
		}
		var got []string
		if _, err := Verify(t.Context(), dir, func(err error) { got = append(got, err.Error()) }); err != nil || len(got) != c.want {
			t.Errorf("runs %v: %q, %v, want %d problems", c.runs, got, err, c.want)
		}
		for _, problem := range got {
			if !strings.Contains(problem, "and pages.jsonl has no such page") {
				t.Errorf("runs %v: %s", c.runs, problem)
			}
		}
	}
}

// The line of a page must name the place of the page's own answer.
func TestAPageIsThatOfItsAnswer(t *testing.T) {
	const url = "http://a.example/"
	now := time.Now().UTC().Truncate(time.Microsecond)
	for name, c := range map[string]struct {
		page PageRecord
		good bool
	}{
		"the same":       {PageRecord{URL: url, Time: now, Status: 200}, true},
		"another URL":    {PageRecord{URL: url + "x", Time: now, Status: 200}, false},
		"another time":   {PageRecord{URL: url, Time: now.Add(time.Microsecond), Status: 200}, false},
		"another status": {PageRecord{URL: url, Time: now, Status: 201}, false},
	} {
		db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
		if err != nil {
			t.Fatal(err)
		}
		x := &warc.Exchange{URL: url, Date: now, Response: &warc.HTTP{StartLine: warc.StatusLine(200), Body: []byte("x")}}
		if refused, err := db.PutVisit(&Visit{Exchanges: []*warc.Exchange{x}, Answer: x, Page: &c.page}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		if _, err := Verify(t.Context(), db.Dir(), func(err error) { got = append(got, err.Error()) }); err != nil {
			t.Error(err)
		}
		if c.good != (len(got) == 0) || len(got) > 1 || len(got) == 1 && !strings.HasSuffix(got[0], "is a different one") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A damaged text may contain the bytes that separate the parts of a fact. They must not split
// the fact.
func TestFactsArePlain(t *testing.T) {
	var got []string
	v := &verifier{ctx: t.Context(), dir: "/c", facts: newFacts(t.TempDir()), crawled: true}
	defer v.facts.close()
	v.Problem = func(err error) { got = append(got, err.Error()) }
	v.know(urlKey("\na"), ofLog, 1, "7\n8")
	v.know(urlKey("\x00b"), ofLog, 2, "\x007")
	if err := v.compare(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !strings.HasPrefix(got[0], "/c/crawl.log:1:  a was") || !strings.HasPrefix(got[1], "/c/crawl.log:2:  b was") {
		t.Errorf("%q", got)
	}
}

// A page and its line of the log must have the same start time, to the microsecond.
func TestTheStartOfARequestIsThatOfTheLog(t *testing.T) {
	start := time.Date(2030, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	l := &crawllog.Line{Start: start.Truncate(time.Millisecond)}
	if got, want := logFact(l), fmt.Sprint(l.Start.UnixMicro()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l.Annotations = []string{"start:" + start.Format(crawllog.MicroForm)}
	if got, want := logFact(l), fmt.Sprint(start.UnixMicro()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Verify reports each changed file with its name and, if possible, the line.
func TestAVerificationNamesTheFileThatIsNotAsItWas(t *testing.T) {
	whole := t.TempDir()
	db, err := Open(whole, Options{Gather: -1, Archive: &Archive{}, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		visitOf(t, db, n)
	}
	visitOf(t, db, 2) // the second visit repeats an answer
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, whole); v.Pages != 4 || v.LogLines != 4 || v.Records != 5 {
		t.Errorf("%+v", v)
	}
	warcs, err := ArchiveFiles(whole)
	if err != nil || len(warcs) != 1 {
		t.Fatal(warcs, err)
	}
	warcFile := filepath.Join(ArchiveDir, filepath.Base(warcs[0]))
	appended := func(b []byte) []byte { return append(b, "x\n"...) }
	first := func(b []byte) []byte { b[0]++; return b }
	upsideDown := func(b []byte) []byte {
		lines := bytes.SplitAfter(b, []byte("\n"))
		slices.Reverse(lines)
		return bytes.Join(lines, nil)
	}
	nowhere := func(b []byte) []byte { return bytes.Replace(b, []byte(`"to":"`), []byte(`"no":"`), 1) }
	gone := func([]byte) []byte { return nil }
	for _, c := range []struct {
		file  string
		spoil func([]byte) []byte
		want  []string
	}{
		{PagesFile, gone, []string{PagesFile + " is missing; "}},
		{PagesFile, appended, []string{PagesFile + " is", "bytes long where"}},
		{PagesFile, first, []string{PagesFile + ":1: ", "bytes are not those that were written"}},
		{LinksFile, gone, []string{LinksFile + " is missing; "}},
		{LinksFile, first, []string{LinksFile + ":1: ", "bytes are not those that were written"}},
		{LinksFile, nowhere, []string{LinksFile + ":1: a link without both URLs"}},
		{LogFile, gone, []string{LogFile + " is missing; "}},
		{LogFile, first, []string{"bytes are not those that were written"}},
		{indexPart, gone, []string{indexPart + " is missing; ", indexPart + " has no line for"}},
		{indexPart, first, []string{"bytes are not those that were written"}},
		{IndexFile, gone, []string{IndexFile + " is missing"}},
		{IndexFile, upsideDown, []string{"the line sorts before the one above it"}},
		{warcFile, gone, []string{filepath.Base(warcFile) + " is missing, with 4 answers in it"}},
		{warcFile, first, []string{warcFile + ": WARC record at byte 0", "bytes are not those that were written"}},
		{warcFile, appended, []string{warcFile + " is", "bytes long where"}},
		{filepath.Join(ArchiveDir, "other.warc.gz"), appended, []string{"other.warc.gz: " + StateFile + " does not know this file"}},
		{filepath.Join(ArchiveDir, "other.warc.gz.open"), appended, []string{"other.warc.gz.open: " + StateFile + " does not know this file"}},
	} {
		dir := crash(t, whole)
		path := filepath.Join(dir, c.file)
		raw, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if raw = c.spoil(raw); raw == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, raw, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if _, err := Verify(t.Context(), dir, func(err error) { got = append(got, err.Error()) }); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		for _, want := range c.want {
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("%s: %q is not reported, but %q", c.file, want, got)
			}
		}
	}
}

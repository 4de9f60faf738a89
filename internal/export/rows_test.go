package export_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A loop over Rows may end after any row.
func TestRowsEndEarly(t *testing.T) {
	s := open(t, true, true)
	all := collect(t, s)
	for n := range all {
		var got []string
		for r, err := range s.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, r.URL+r.Time.String()); len(got) > n {
				break
			}
		}
		for i := range got {
			if want := all[i].URL + all[i].Time.String(); got[i] != want || len(got) != n+1 {
				t.Errorf("the first %d: row %d is %s, want %s", len(got), i, got[i], want)
			}
		}
	}
	if left, err := os.ReadDir(s.Temp); len(left) > 0 || err != nil {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// If the disk is full during sorting, Rows ends with the error.
func TestNoRoomForRows(t *testing.T) {
	s := open(t, true, true)
	s.Temp, s.Memory = filepath.Join(t.TempDir(), "none"), 1
	n := 0
	for r, err := range s.Rows(t.Context()) {
		if n++; r != nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), s.Temp) {
			t.Errorf("%v, %v", r, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
	for _, memory := range []int{0, -1} {
		s.Memory = memory // with this limit all rows fit in memory
		if got := collect(t, s); len(got) != len(sample.Captures()) {
			t.Errorf("memory of %d: %d rows", memory, len(got))
		}
	}
}

// A page and a record become one capture only if their URLs and times match.
func TestJoin(t *testing.T) {
	const a, b, both = "archive", "page", "both"
	fraction := noon.Add(678 * time.Millisecond)
	for name, c := range map[string]struct {
		pages   []time.Time
		records []time.Time
		want    []string // expected rows, by time
	}{
		"one time":                   {[]time.Time{fraction}, []time.Time{fraction}, []string{both}},
		"below a microsecond":        {[]time.Time{fraction.Add(999)}, []time.Time{fraction}, []string{both}},
		"a microsecond":              {[]time.Time{fraction.Add(1000)}, []time.Time{fraction}, []string{a, b}},
		"to the second":              {[]time.Time{fraction}, []time.Time{noon}, []string{both}},
		"the end of the second":      {[]time.Time{noon.Add(time.Second - 1)}, []time.Time{noon}, []string{both}},
		"the second after":           {[]time.Time{noon.Add(time.Second)}, []time.Time{noon}, []string{a, b}},
		"the second before":          {[]time.Time{noon.Add(-1)}, []time.Time{noon}, []string{b, a}},
		"two records, one page":      {[]time.Time{noon}, []time.Time{noon, noon}, []string{a, both}},
		"one record, two pages":      {[]time.Time{noon, noon}, []time.Time{noon}, []string{both, b}},
		"a record for each":          {[]time.Time{noon, fraction.Add(time.Second)}, []time.Time{noon, fraction.Add(time.Second)}, []string{both, both}},
		"a page alone":               {[]time.Time{noon}, nil, []string{b}},
		"two pages alone":            {[]time.Time{noon, fraction}, nil, []string{b, b}},
		"a record alone, at the end": {[]time.Time{noon}, []time.Time{fraction}, []string{b, a}},
	} {
		var pages string
		for _, at := range c.pages {
			pages += pageLine(at, "")
		}
		var exchanges []*warc.Exchange
		for _, at := range c.records {
			exchanges = append(exchanges, &warc.Exchange{Date: at, Response: answer(200, nil)})
		}
		var got []string
		for _, r := range collect(t, crawled(t, pages, exchanges...)) {
			switch {
			case r.Page && r.WARCFile != "":
				got = append(got, both)
			case r.Page:
				got = append(got, b)
			default:
				got = append(got, a)
			}
			if want := map[bool]export.Fate{true: export.Fetched, false: export.NotTaken}[r.Page]; r.Fate != want {
				t.Errorf("%s: fate %q, want %q", name, r.Fate, want)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// The same time without the same URL is not enough.
	other := strings.Replace(pageLine(noon, ""), "a.example/", "a.example/other", 1)
	if got := collect(t, crawled(t, other, &warc.Exchange{Response: answer(200, nil)})); len(got) != 2 {
		t.Errorf("of another URL: %d rows", len(got))
	}
}

// A row has certain fields of its WARC record.
func TestRowsOfRecords(t *testing.T) {
	page := func(status int, header http.Header) *warc.Exchange {
		return &warc.Exchange{Response: answer(status, header)}
	}
	describe := func(fields ...warc.Field) *warc.Exchange {
		x := page(200, nil)
		x.Metadata = fields
		return x
	}
	location := http.Header{"Location": {"there"}, "Content-Type": {"Text/X ; y"}}
	for name, c := range map[string]struct {
		x    *warc.Exchange
		want string // expected members of the row's JSON
	}{
		"redirect 300": {page(300, location), `{"status":300,"location":"http://a.example/there","type":"text/x","type_sent":"Text/X"}`},
		"redirect 399": {page(399, location), `{"status":399,"location":"http://a.example/there"}`},
		"not 299":      {page(299, location), `{"status":299,"location":null}`},
		"not 400":      {page(400, location), `{"status":400,"location":null}`},
		"no URL":       {page(302, http.Header{"Location": {"http://%zz/"}}), `{"location":"http://%zz/"}`},
		"robots.txt":   {&warc.Exchange{URL: "http://a.example/robots.txt", Response: answer(200, nil)}, `{"fate":"robots.txt"}`},
		"no robots":    {&warc.Exchange{URL: "http://a.example/robots.txt2", Response: answer(200, nil)}, `{"fate":null}`},
		"hop P":        {describe(warc.Field{Name: "hopsFromSeed", Value: "LP"}), `{"fate":"robots.txt","depth":1,"hops":"LP"}`},
		"hop PL":       {describe(warc.Field{Name: "hopsFromSeed", Value: "PL"}), `{"fate":null,"depth":1}`},
		"depth":        {describe(warc.Field{Name: "HopsFromSeed", Value: "LLRL"}), `{"depth":3,"hops":"LLRL"}`},
		"no links":     {describe(warc.Field{Name: "hopsFromSeed", Value: "RM"}), `{"depth":0,"hops":"RM"}`},
		"a seed":       {describe(warc.Field{Name: "robotsFetched", Value: "2030-01-02T03:04:05.1234567+01:00"}), `{"depth":0,"robots":"2030-01-02T02:04:05.123456Z"}`},
		"no seed":      {describe(warc.Field{Name: "robotsFetched", Value: "2030-01-02T03:04:05Z"}, warc.Field{Name: "via", Value: "x"}), `{"depth":null,"robots":"2030-01-02T03:04:05Z","via":"x"}`},
		"not a time":   {describe(warc.Field{Name: "robotsFetched", Value: "today"}), `{"depth":null,"robots":null}`},
		"no such time": {describe(warc.Field{Name: "robotsFetched", Value: "0000-01-02T03:04:05Z"}), `{"depth":null,"robots":null}`},
		"the rest":     {describe(warc.Field{Name: "seedTag", Value: "t"}, warc.Field{Name: "robotsRule", Value: "r"}, warc.Field{Name: "other", Value: "o"}), `{"tag":"t","rule":"r","depth":null}`},
		"uses":         {describe(warc.Field{Name: "usage", Value: "tdm=y by x"}, warc.Field{Name: "usage", Value: "tdm=n by y"}, warc.Field{Name: "usage", Value: "tdm=y by z"}, warc.Field{Name: "usage", Value: "odd"}), `{"use_tdm":false,"use_search":null,"usage":"tdm=y by x; tdm=n by y; tdm=y by z"}`},
		"other uses":   {describe(warc.Field{Name: "usage", Value: "print=n by x"}, warc.Field{Name: "license", Value: "a"}, warc.Field{Name: "License", Value: "b"}, warc.Field{Name: "tdmPolicy", Value: "p"}), `{"usage":"print=n by x","license":"a b","tdm_policy":"p","use_archive":null}`},
		"a file":       {&warc.Exchange{URL: "ftp://a.example/", File: &warc.File{Type: "Text/Y; z"}}, `{"status":0,"type":"text/y","type_sent":"Text/Y","warc_type":"resource"}`},
		"no fields":    {&warc.Exchange{URL: "x:y", File: &warc.File{Type: "application/warc-field"}}, `{"type_sent":"application/warc-field"}`},
		"no HTTP":      {&warc.Exchange{Response: &warc.HTTP{Head: []byte("odd\r\n\r\n")}}, `{"status":0,"type":null,"warc_type":"response"}`},
		"address":      {&warc.Exchange{IP: netip.MustParseAddr("2001:db8::1"), Response: answer(200, nil)}, `{"ip":"2001:db8::1"}`},
		"no address":   {page(200, nil), `{"ip":null}`},
		"payload":      {&warc.Exchange{Response: answer(200, nil), Truncated: "time", PayloadType: "a/b", PayloadDigest: "sha1:D"}, `{"truncated":"time","type_detected":"a/b","payload_digest":"sha1:D","type":null}`},
		"time":         {&warc.Exchange{Date: noon.Add(1999), Response: answer(200, nil)}, `{"time":"2030-01-02T12:00:00.000001Z","surt":"example,a)/","host":"a.example","domain":"a.example","warc_file":"a.warc.gz","warc_offset":0}`},
	} {
		rows := collect(t, crawled(t, "", c.x))
		if len(rows) != 1 {
			t.Errorf("%s: %d rows", name, len(rows))
			continue
		}
		raw, err := json.Marshal(rows[0])
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := errors.Join(json.Unmarshal(raw, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		for member, value := range want {
			if got[member] != value {
				t.Errorf("%s: %s is %v, want %v", name, member, got[member], value)
			}
		}
	}
	// A record that is no archived answer has no row. A metadata record is added only to the
	// answer that it describes.
	for name, c := range map[string]struct {
		x    *warc.Exchange
		rows int
	}{
		"fields of a crawler": {&warc.Exchange{URL: "metadata://x", File: &warc.File{Type: "application/warc-fields; x"}}, 0},
		"a request":           {&warc.Exchange{Request: &warc.HTTP{StartLine: "GET / HTTP/1.1"}, Metadata: []warc.Field{{Name: "via", Value: "v"}}}, 0},
	} {
		before := &warc.Exchange{URL: "http://before.example/", Response: answer(200, nil)}
		rows := collect(t, crawled(t, "", before, c.x))
		if len(rows) != 1+c.rows || rows[0].Via != "" || rows[0].URL != before.URL {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

// In a WARC file of another program, damage is reported with its place, and all other records
// are exported.
func TestRecordsOfOthers(t *testing.T) {
	record := func(kind, lines, block string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:x:%s>\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, kind, lines, len(block), block)
	}
	const date = "WARC-Date: 2030-01-02T12:00:00Z\r\n"
	const web = "WARC-Target-URI: <http://a.example/>\r\nContent-Type: application/http\r\n"
	good := record("response", date+web, "HTTP/1.1 201 Created\r\n\r\n")
	for name, c := range map[string]struct {
		file   string
		rows   int
		damage string // the reported damage, as text
	}{
		"good":             {good, 1, ""},
		"without a block":  {record("response", date+web, ""), 1, ""},
		"without URL":      {record("response", date, "x"), 0, "a response record without WARC-Target-URI"},
		"year 0":           {record("revisit", "WARC-Date: 0000-01-02T12:00:00Z\r\n"+web, ""), 0, "a revisit record without a WARC-Date that could be one"},
		"year 1":           {record("revisit", "WARC-Date: 0001-01-01T00:00:01Z\r\n"+web, ""), 1, ""},
		"the zero time":    {record("revisit", "WARC-Date: 0001-01-01T00:00:00Z\r\n"+web, ""), 0, "WARC-Date"},
		"metadata is cut":  {good + record("metadata", date+"WARC-Concurrent-To: <urn:x:response>\r\n", "no field"), 1, "no field"},
		"about no capture": {record("metadata", date+"WARC-Concurrent-To: <urn:x:response>\r\n", "via: v"), 0, ""},
		"two answers":      {good + strings.ReplaceAll(good, "a.example", "b.example"), 2, ""},
	} {
		s := crawled(t, "")
		s.WARCs = []string{filepath.Join(t.TempDir(), "a.warc")}
		following := record("resource", date+"WARC-Target-URI: ftp://z.example/\r\n", "z")
		if err := os.WriteFile(s.WARCs[0], []byte(c.file+following), 0o644); err != nil {
			t.Fatal(err)
		}
		var reported []*export.Damage
		s.Damaged = func(d *export.Damage) error {
			reported = append(reported, d)
			return nil
		}
		rows := collect(t, s)
		if len(rows) != c.rows+1 {
			t.Errorf("%s: %d rows: %+v", name, len(rows), rows)
		}
		if c.damage == "" && len(reported) > 0 || c.damage != "" && (len(reported) != 1 || !strings.Contains(reported[0].Error(), c.damage) || reported[0].File != s.WARCs[0]) {
			t.Errorf("%s: reported: %v", name, reported)
		}
		if len(reported) > 0 && reported[0].Offset != int64(strings.LastIndex(c.file, "WARC/1.0")) {
			t.Errorf("%s: reported: byte %d", name, reported[0].Offset)
		}
		s.Damaged = nil
		for _, err := range s.Rows(t.Context()) {
			if (err == nil) != (c.damage == "") {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil {
				break
			}
		}
	}
}

func TestLinesAtTheirBounds(t *testing.T) {
	for members, ok := range map[string]bool{
		`,"status":0`: true, `,"status":999`: true, `,"status":1000`: false, `,"status":-1`: false,
		`,"links":2147483647`: true, `,"links":2147483648`: false, `,"links":-1`: false, `,"links":0`: true,
		`,"depth":2147483647`: true, `,"depth":2147483648`: false, `,"depth":-1`: false,
		`,"size":9223372036854775807`: true, `,"size":-1`: false,
		`,"robots":"2030-01-02T03:04:05Z"`: true, `,"robots":"0000-01-02T03:04:05Z"`: false, `,"robots":"0001-01-01T00:00:00Z"`: true,
		`,"time":"9999-12-31T23:59:59Z"`: true, `,"time":"9999-12-31T23:59:59-01:00"`: false, `,"time":"0001-01-01T00:00:01Z"`: true, `,"time":"0000-12-31T23:59:59Z"`: false,
		`,"url":""`: false, `,"url":1`: false,
	} {
		var reported []string
		s := crawled(t, "\n \t\r\n"+pageLine(noon, members))
		s.Damaged = func(d *export.Damage) error {
			reported = append(reported, d.Error())
			return nil
		}
		rows := collect(t, s)
		if (len(rows) == 1) != ok || (len(reported) == 0) != ok || !ok && !strings.HasPrefix(reported[0], s.Pages+":3: ") {
			t.Errorf("%s: %d rows, reported: %q", members, len(rows), reported)
		}
	}
	// A last line without a newline counts if it can be parsed.
	s := crawled(t, strings.TrimSuffix(pageLine(noon, ""), "\n"))
	if rows := collect(t, s); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

// A row has the values of the page, and those values of its archived capture that the page does
// not have.
func TestRowsOfPages(t *testing.T) {
	line := pageLine(noon.Add(1999), `,"type":"a/b","location":"rel","truncated":"time","warc":"x.warc.gz","offset":5,"length":6,"robots":"2030-01-02T03:04:05.1234567Z"`)
	r := collect(t, crawled(t, line))[0]
	if r.WARCFile != "x.warc.gz" || *r.WARCOffset != 5 || *r.WARCLength != 6 || r.Location != "rel" || r.Truncated != "time" || r.Type != "a/b" || r.Fate != export.Fetched ||
		!r.Time.Equal(noon.Add(1000)) || r.Robots.Nanosecond() != 123456000 {
		t.Errorf("%+v", r)
	}
	same := &warc.Exchange{Date: noon.Add(1000), Response: answer(200, nil), PayloadDigest: "sha1:D",
		Revisit: &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: "http://a.example/", Date: noon}}
	for truncated, want := range map[string]string{`,"truncated":"time"`: "time", "": ""} {
		if r := collect(t, crawled(t, pageLine(noon.Add(1999), truncated), same))[0]; r.Truncated != want || r.WARCType != "revisit" {
			t.Errorf("what repeats a body: %s: %s", truncated, jsonOf(r))
		}
	}
	other := pageLine(noon.Add(time.Hour), "") // a second request for the URL of same
	for _, pages := range []string{"", other} {
		rows := collect(t, crawled(t, pages, same))
		if r := rows[0]; r.Truncated != "" || r.WARCType != "revisit" || r.Page || r.Size != nil {
			t.Errorf("what repeats a body, without its page: %s", jsonOf(r))
		}
	}
	x := &warc.Exchange{Date: noon.Add(1000), Response: answer(404, http.Header{"Content-Type": {"C/D"}}), Truncated: "length"}
	if r := collect(t, crawled(t, "", x))[0]; r.Truncated != "length" {
		t.Errorf("what is cut, without its page: %s", jsonOf(r))
	}
	for truncated, want := range map[string]string{`,"truncated":"time"`: "time", "": "length"} {
		r := collect(t, crawled(t, pageLine(noon.Add(1999), truncated), x))[0]
		if r.Truncated != want || r.Status != 200 || r.SentType != "C/D" || r.Type != "c/d" || r.WARCFile != "a.warc.gz" || *r.WARCLength == 0 || r.WARCType != "response" || r.WARCID == "" || r.PayloadDigest == "" {
			t.Errorf("%+v", r)
		}
	}
}

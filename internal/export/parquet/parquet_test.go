package parquet_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
	"github.com/permesso-crawler/permesso/internal/export/parquet"
)

func source(t *testing.T, pages, archive bool) *export.Source {
	t.Helper()
	dir := t.TempDir()
	if err := sample.Write(dir, pages, archive); err != nil {
		t.Fatal(err)
	}
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns the rows of a file as maps, without any knowledge about the columns.
func read(t *testing.T, b []byte) (rows []map[string]any) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	names := f.Schema().Columns()
	for _, group := range f.RowGroups() {
		in := group.Rows()
		for {
			var batch [1]pq.Row
			n, err := in.ReadRows(batch[:])
			for _, values := range batch[:n] {
				row := map[string]any{}
				for _, v := range values {
					name := names[v.Column()][0]
					switch {
					case v.IsNull():
					case v.Kind() == pq.ByteArray && name == "warc_record_id":
						row[name] = hex.EncodeToString(v.ByteArray())
					case v.Kind() == pq.ByteArray:
						row[name] = string(v.ByteArray())
					case v.Kind() == pq.Boolean:
						row[name] = v.Boolean()
					case v.Kind() == pq.Int64:
						row[name] = v.Int64()
					default:
						row[name] = v.Int32()
					}
				}
				rows = append(rows, row)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// The file of a series has the snapshot column before all others, and the same other columns as
// the file of one crawl.
func TestTheFileOfASeriesSaysOfWhichCrawlEachRowIs(t *testing.T) {
	s := export.Series{{Start: sample.Start, Source: source(t, true, true)}, {Start: sample.Start.Add(7 * 24 * time.Hour), Source: source(t, true, false)}}
	write := func(s export.Series) (*bytes.Reader, int64) {
		var b bytes.Buffer
		n, err := parquet.Write(&b, s.Rows(t.Context()), parquet.Options{Snapshots: true})
		if err != nil {
			t.Fatal(err)
		}
		return bytes.NewReader(b.Bytes()), n
	}
	file, n := write(s)
	f, err := pq.OpenFile(file, file.Size())
	if err != nil {
		t.Fatal(err)
	}
	var one bytes.Buffer
	if _, err := parquet.Write(&one, s[0].Source.Rows(t.Context()), parquet.Options{}); err != nil {
		t.Fatal(err)
	}
	alone, err := pq.OpenFile(bytes.NewReader(one.Bytes()), int64(one.Len()))
	if err != nil {
		t.Fatal(err)
	}
	_, columns, _ := strings.Cut(alone.Schema().String(), "\n")
	_, got, _ := strings.Cut(f.Schema().String(), "\n")
	if want := "\trequired int64 snapshot (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS));\n" + columns; got != want {
		t.Errorf("schema (-want +got):\n%s", cmp.Diff(want, got))
	}
	if by := f.RowGroups()[0].SortingColumns(); len(by) != 3 || by[0].Path()[0] != "snapshot" {
		t.Errorf("sorted by %v", by)
	}
	whole := make([]byte, file.Size())
	if _, err := file.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	rows := read(t, whole)
	if first, last := rows[0]["snapshot"], rows[len(rows)-1]["snapshot"]; first != s[0].Start.UnixMilli() || last != s[1].Start.UnixMilli() || rows[0]["url"] == nil {
		t.Errorf("from %v to %v", first, last)
	}
	if m, err := parquet.Check(file, file.Size()); m != n || err != nil {
		t.Errorf("%d rows of %d, %v", m, n, err)
	}
	s[0], s[1] = s[1], s[0]
	file, _ = write(s)
	if _, err := parquet.Check(file, file.Size()); err == nil || !strings.Contains(err.Error(), "sorts before the one above it") {
		t.Errorf("crawls in disorder: %v", err)
	}
}

// The names, types and order of the columns are promised to users: first those of Common
// Crawl's index, then our own. A column may be added only at the end.
func TestSchema(t *testing.T) {
	var b bytes.Buffer
	if _, err := parquet.Write(&b, source(t, true, true).Rows(t.Context()), parquet.Options{}); err != nil {
		t.Fatal(err)
	}
	f, err := pq.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want := `message record {
	required binary url_surtkey (STRING);
	required binary url (STRING);
	required binary url_host_name (STRING);
	optional binary url_host_tld (STRING);
	optional binary url_host_2nd_last_part (STRING);
	optional binary url_host_3rd_last_part (STRING);
	optional binary url_host_4th_last_part (STRING);
	optional binary url_host_5th_last_part (STRING);
	optional binary url_host_registry_suffix (STRING);
	optional binary url_host_registered_domain (STRING);
	optional binary url_host_private_suffix (STRING);
	optional binary url_host_private_domain (STRING);
	optional binary url_host_name_reversed (STRING);
	required binary url_protocol (STRING);
	optional int32 url_port (INT(32,true));
	required binary url_path (STRING);
	optional binary url_query (STRING);
	required int64 fetch_time (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS));
	required int32 fetch_status (INT(16,true));
	optional binary fetch_redirect (STRING);
	optional binary content_digest (STRING);
	optional binary content_mime_type (STRING);
	optional binary content_mime_detected (STRING);
	optional binary content_charset (STRING);
	optional binary content_languages (STRING);
	optional binary content_truncated (STRING);
	optional binary warc_record_id;
	optional binary warc_filename (STRING);
	optional int32 warc_record_offset (INT(32,true));
	optional int32 warc_record_length (INT(32,true));
	optional binary warc_segment (STRING);
	optional binary fate (STRING);
	optional int64 content_size (INT(64,true));
	optional binary body_digest (STRING);
	optional binary title (STRING);
	optional int32 links (INT(32,true));
	optional int32 depth (INT(32,true));
	optional binary hops (STRING);
	optional binary via (STRING);
	optional binary tag (STRING);
	optional int64 robots_fetched (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS));
	optional binary robots_rule (STRING);
	optional boolean noindex;
	optional boolean noarchive;
	optional binary fetch_ip (STRING);
	optional binary warc_record_type (STRING);
	optional boolean use_search;
	optional boolean use_ai_train;
	optional boolean use_ai_input;
	optional boolean use_tdm;
	optional boolean use_archive;
	optional binary usage (STRING);
	optional binary license (STRING);
	optional binary tdm_policy (STRING);
	optional binary use_refused (STRING);
	optional binary canonical (STRING);
	optional binary og_url (STRING);
	optional binary fetch_method (STRING);
	optional binary change (STRING);
	optional binary text_digest (STRING);
}`
	if diff := cmp.Diff(want, f.Schema().String()); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

// Each row has the same values in the Parquet file as in the table of package export.
func TestRowsAreThoseOfTheTable(t *testing.T) {
	for _, c := range []struct{ pages, archive bool }{{true, true}, {true, false}, {false, true}} {
		s := source(t, c.pages, c.archive)
		var b bytes.Buffer
		n, err := parquet.Write(&b, s.Rows(t.Context()), parquet.Options{Segment: "sample", GroupRows: 3})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := parquet.Check(bytes.NewReader(b.Bytes()), int64(b.Len())); m != n || err != nil {
			t.Errorf("check reads %d of %d rows: %v", m, n, err)
		}
		rows := read(t, b.Bytes())
		i := 0
		for r, err := range s.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got := rows[i]
			i++
			want := map[string]any{"url_surtkey": r.SURT, "url": r.URL, "url_host_name": r.Host, "fetch_time": r.Time.UnixMilli(), "fetch_status": int32(r.Status)}
			for name, s := range map[string]string{
				"fetch_redirect": r.Location, "content_digest": strings.TrimPrefix(r.PayloadDigest, "sha1:"), "content_mime_detected": r.DetectedType,
				"content_charset": r.Charset, "content_truncated": r.Truncated, "warc_filename": r.WARCFile, "fate": string(r.Fate), "body_digest": r.Digest,
				"title": r.Title, "hops": r.Hops, "via": r.Via, "tag": r.Tag, "robots_rule": r.Rule, "warc_record_type": r.WARCType,
				"usage": r.Usage, "license": r.License, "tdm_policy": r.TDMPolicy, "use_refused": r.Refused,
				"canonical": r.Canonical, "og_url": r.OpenGraph, "fetch_method": r.Method, "change": r.Change, "text_digest": r.TextDigest,
				"warc_record_id": strings.ReplaceAll(strings.TrimPrefix(r.WARCID, "urn:uuid:"), "-", ""),
			} {
				if s != "" {
					want[name] = s
				}
			}
			if r.WARCFile != "" {
				want["warc_segment"], want["warc_record_offset"], want["warc_record_length"] = "sample", int32(*r.WARCOffset), int32(*r.WARCLength)
			}
			if r.SentType != "" || r.Type != "" {
				want["content_mime_type"] = cmpOr(r.SentType, r.Type)
			}
			if r.Size != nil {
				want["content_size"], want["links"], want["noindex"], want["noarchive"] = *r.Size, int32(*r.Links), *r.NoIndex, *r.NoArchive
			}
			for name, use := range map[string]*bool{
				"use_search": r.UseSearch, "use_ai_train": r.UseAITrain, "use_ai_input": r.UseAIInput, "use_tdm": r.UseTDM, "use_archive": r.UseArchive,
			} {
				if use != nil {
					want[name] = *use
				}
			}
			if !r.Robots.IsZero() {
				want["robots_fetched"] = r.Robots.UnixMilli()
			}
			if r.Depth != nil {
				want["depth"] = int32(*r.Depth)
			}
			if r.IP.IsValid() {
				want["fetch_ip"] = r.IP.String()
			}
			for name := range got {
				if strings.HasPrefix(name, "url_") && want[name] == nil {
					delete(got, name) // tested by TestURLColumns
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-table +file):\n%s", r.URL, diff)
			}
		}
		if int64(i) != n || len(rows) != i {
			t.Errorf("%d rows in the table, %d written, %d read", i, n, len(rows))
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// The columns about the URL have the values of Common Crawl's documentation, also for IP
// addresses and for names that are not on the Public Suffix List.
func TestURLColumns(t *testing.T) {
	type parts map[string]any
	for url, want := range map[string]parts{
		"https://www.example.com/path/index.html?q=abc&lang=en": {
			"url_host_tld": "com", "url_host_2nd_last_part": "example", "url_host_3rd_last_part": "www", "url_host_name_reversed": "com.example.www",
			"url_host_registry_suffix": "com", "url_host_registered_domain": "example.com", "url_host_private_suffix": "com", "url_host_private_domain": "example.com",
			"url_protocol": "https", "url_path": "/path/index.html", "url_query": "q=abc&lang=en",
		},
		"http://bbc.co.uk:8443/?": {
			"url_host_tld": "uk", "url_host_2nd_last_part": "co", "url_host_3rd_last_part": "bbc", "url_host_name_reversed": "uk.co.bbc",
			"url_host_registry_suffix": "co.uk", "url_host_registered_domain": "bbc.co.uk", "url_host_private_suffix": "co.uk", "url_host_private_domain": "bbc.co.uk",
			"url_protocol": "http", "url_port": int32(8443), "url_path": "/", "url_query": "",
		},
		"https://a.b.myblog.blogspot.com:443/": {
			"url_host_tld": "com", "url_host_2nd_last_part": "blogspot", "url_host_3rd_last_part": "myblog", "url_host_4th_last_part": "b", "url_host_5th_last_part": "a",
			"url_host_name_reversed":   "com.blogspot.myblog.b.a",
			"url_host_registry_suffix": "com", "url_host_registered_domain": "blogspot.com", "url_host_private_suffix": "blogspot.com", "url_host_private_domain": "myblog.blogspot.com",
			"url_protocol": "https", "url_path": "/",
		},
		"https://github.io/": {
			"url_host_tld": "io", "url_host_2nd_last_part": "github", "url_host_name_reversed": "io.github",
			"url_host_registry_suffix": "io", "url_host_registered_domain": "github.io", "url_host_private_suffix": "github.io",
			"url_protocol": "https", "url_path": "/",
		},
		"http://intranet.corp/x":    {"url_host_tld": "corp", "url_host_2nd_last_part": "intranet", "url_host_name_reversed": "corp.intranet", "url_protocol": "http", "url_path": "/x"},
		"http://192.0.2.1:81/x":     {"url_protocol": "http", "url_port": int32(81), "url_path": "/x"},
		"http://[2001:db8::1]:81/x": {"url_protocol": "http", "url_port": int32(81), "url_path": "/x"},
		"dns:www.example.com":       {"url_protocol": "dns", "url_path": "www.example.com"},
	} {
		var b bytes.Buffer
		_, err := parquet.Write(&b, func(yield func(*export.Row, error) bool) {
			yield(&export.Row{SURT: "s", URL: url, Time: sample.Start}, nil)
		}, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := parts(read(t, b.Bytes())[0])
		for _, name := range []string{"url", "url_surtkey", "url_host_name", "fetch_time", "fetch_status"} {
			delete(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for _, n := range []int64{math.MaxInt32 + 1, -1} {
		_, err := parquet.Write(io.Discard, func(yield func(*export.Row, error) bool) {
			yield(&export.Row{SURT: "s", URL: "http://a.example/", WARCFile: "a.warc.gz", WARCOffset: &n}, nil)
		}, parquet.Options{})
		if err == nil || !strings.Contains(err.Error(), "a.warc.gz") || !strings.Contains(err.Error(), "export csv") {
			t.Errorf("offset %d: %v", n, err)
		}
	}
	stop := errors.New("stop")
	if _, err := parquet.Write(io.Discard, func(yield func(*export.Row, error) bool) { yield(nil, stop) }, parquet.Options{}); err != stop {
		t.Errorf("error of the rows: %v", err)
	}
}

// Check finds damage, and never panics.
func TestCheckFindsDamage(t *testing.T) {
	var b bytes.Buffer
	if _, err := parquet.Write(&b, source(t, true, true).Rows(t.Context()), parquet.Options{GroupRows: 4}); err != nil {
		t.Fatal(err)
	}
	check := func(b []byte) error {
		_, err := parquet.Check(bytes.NewReader(b), int64(len(b)))
		return err
	}
	if check(b.Bytes()[:b.Len()-100]) == nil || check(nil) == nil {
		t.Error("a file that is cut passes")
	}
	for i := range b.Len() / 64 {
		torn := bytes.Clone(b.Bytes())
		copy(torn[i*64:], make([]byte, 64))
		_ = check(torn)
	}
	var back []*export.Row
	for r, err := range source(t, true, true).Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		back = append([]*export.Row{r}, back...)
	}
	b.Reset()
	if _, err := parquet.Write(&b, func(yield func(*export.Row, error) bool) {
		for _, r := range back {
			if !yield(r, nil) {
				return
			}
		}
	}, parquet.Options{}); err != nil {
		t.Fatal(err)
	}
	if check(b.Bytes()) == nil {
		t.Error("rows in another order pass")
	}
}

// Only the command links the Parquet library. Programs that use the crawler as a library do
// not.
func TestLinkedByTheCommandOnly(t *testing.T) {
	const root = "../../.."
	var users []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, root+"/")))
			if strings.Contains(spec.Path.Value, "parquet") && dir != "internal/export/parquet" {
				users = append(users, dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cmd/crawl"}, users); diff != "" {
		t.Errorf("packages that import Parquet (-want +got):\n%s", diff)
	}
}

package store

import (
	"encoding/json"
	"reflect"
	"testing"
)

// parseLine reads a line as the standard library does, also a line that this program has not written.
func FuzzLinesAreReadAsByTheStandardLibrary(f *testing.F) {
	for _, line := range []string{
		`{"url":"http://a.example/","time":"2026-01-02T03:04:05.000006Z","status":200,"size":7,"links":0,"depth":0,"robots":"2026-01-02T03:04:05Z","usage":[{"use":"x","granted":true}]}`,
		`{"URL":"http://a.example/","Url":"http://b.example/","url":"http://c.example/"}`,
		`{"url":null,"time":null,"license":null,"usage":null,"size":null,"noindex":null,"body":null,"base64":null}`,
		"{\"url\":\"\xff\xc3(\\ud800\\ud800\\udc00\\u0000\"}",
		`{"url":"a","size":1.0}`, `{"url":"a","size":1e3}`, `{"url":"a","size":"7"}`, `{"url":"a","size":9223372036854775808}`, `{"url":"a","size":-0}`,
		`{"url":"a","license":["b",null,"c"],"license":["d"]}`, `{"url":"a","license":{}}`, `{"url":"a","unknown":{"deep":[[[{}]]]}}`,
		`{"url":"a","base64":"YQ=="}`, `{"url":"a","base64":"YQ"}`, `{"url":"a","body":"b\nc"}`, `{"url":"a","body":7}`,
		`{"url":"a"} {}`, `{"url":"a"`, `{"url":"a",}`, ` {"url":"a"}`, `null`, `[]`, `"a"`, ``, "\ufeff{}", `{"url":"a","time":"yesterday"}`, `{"url":"a","time":""}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var is, want PageRecord
		err := parseLine(line, &is, func(*PageRecord) string { return "" })
		wantErr := json.Unmarshal(line, &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, and by the standard library %v", line, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(is, want) {
			t.Errorf("%q: %+v, and by the standard library %+v", line, is, want)
		}
	})
}

package control

import (
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/metrics.txt anew")

// Dashboards and alerts use these names, help texts and types. Each figure comes from a
// field of its own: every number of the status is different.
func TestTheFiguresAreThoseThatWerePromised(t *testing.T) {
	var s crawler.Status
	fill(t, reflect.ValueOf(&s).Elem(), "")
	got, path := metrics(s), filepath.Join("testdata", "metrics.txt")
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
		t.Errorf("%s says otherwise; read the difference of\n\tgo test ./cmd/crawl/internal/control -run Promised -rewrite\n%s", path, got)
	}
}

// fill gives each field below v a value that follows from its path, a map one entry.
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

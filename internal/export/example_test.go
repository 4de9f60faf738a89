package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/export"
)

// Find the pages of a crawl that were not found (404), and the pages that link to them.
func ExampleSource_Rows() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	const pages = `{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","status":200,"title":"Home"}
{"url":"http://a.example/gone","time":"2030-01-02T03:04:07Z","status":404,"via":"http://a.example/"}
`
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), []byte(pages), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	source, err := export.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range source.Rows(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if row.Status == 404 {
			fmt.Println(row.URL, "is linked from", row.Via)
		}
	}
	// Output: http://a.example/gone is linked from http://a.example/
}

func ExampleWriteJSONL() {
	rows := func(yield func(*export.Row, error) bool) {
		yield(&export.Row{SURT: "example,a)/", URL: "http://a.example/", Host: "a.example", Status: 200}, nil)
	}
	if _, err := export.WriteJSONL(os.Stdout, rows); err != nil {
		fmt.Println(err)
	}
	// Output: {"surt":"example,a)/","url":"http://a.example/","host":"a.example","time":"0001-01-01T00:00:00Z","status":200}
}

package wacz_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/wacz"
)

// Pack the WARC files of a crawl.
func ExampleWrite() {
	files, err := filepath.Glob("a.crawl/warc/*.warc.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := os.Create("a.wacz")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = wacz.Write(context.Background(), f, &wacz.Package{
		WARCs: files, Title: "All about a", Created: time.Now(),
		Pages: func(yield func(wacz.Page, error) bool) {
			yield(wacz.Page{URL: "http://a.example/", Time: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Title: "Home"}, nil)
		},
	})
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = wacz.Verify("a.wacz")
	}
	if err != nil {
		fmt.Println(err)
	}
}

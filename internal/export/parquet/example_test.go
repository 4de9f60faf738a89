package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/parquet"
)

func ExampleWrite() {
	source, err := export.Open("news.crawl")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := os.Create("news.parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = parquet.Write(f, source.Rows(context.Background()), parquet.Options{Segment: "news"})
	if err := errors.Join(err, f.Close()); err != nil {
		fmt.Println(err)
	}
}

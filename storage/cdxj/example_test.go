package cdxj_test

import (
	"fmt"
	"os"
	"time"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

func ExampleSorter() {
	s := cdxj.NewSorter("", 0)
	defer s.Close()
	for i, url := range []string{"http://www.b.example/", "http://a.example/?y&x"} {
		err := s.Add(&cdxj.Entry{
			Key: cdxj.SURT(url), Time: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), URL: url,
			MIME: "text/html", Status: 200, Length: 500, Offset: int64(500 * i), Filename: "a.warc.gz",
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := s.WriteTo(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// example,a)/?x&y 20300102030405 {"url":"http://a.example/?y&x","mime":"text/html","status":"200","length":"500","offset":"500","filename":"a.warc.gz"}
	// example,b)/ 20300102030405 {"url":"http://www.b.example/","mime":"text/html","status":"200","length":"500","offset":"0","filename":"a.warc.gz"}
}

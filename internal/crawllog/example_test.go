package crawllog_test

import (
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/internal/crawllog"
)

func ExampleRead() {
	const log = "2030-01-02T03:04:05.678Z   200       1234 http://a.example/x L http://a.example/ text/html #007 " +
		"20300102030405500+178 sha1:ABC - start:2030-01-02T03:04:05.500000Z,asked:1.000000,clock:own\n"
	err := crawllog.Read(strings.NewReader(log), func(l *crawllog.Line) error {
		asked, _ := l.Annotation("asked")
		clock, _ := l.Annotation("clock")
		fmt.Println(l.Status, l.URL, "after", asked, "s, asked by", clock)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 200 http://a.example/x after 1.000000 s, asked by own
	// <nil>
}

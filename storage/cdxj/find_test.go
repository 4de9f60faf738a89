package cdxj_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// indexOf returns a sorted index with one capture of each URL. The captures are some seconds
// apart.
func indexOf(t *testing.T, urls ...string) []byte {
	t.Helper()
	sorter := cdxj.NewSorter(t.TempDir(), 0)
	defer sorter.Close()
	for i, url := range urls {
		e := &cdxj.Entry{
			Key: cdxj.SURT(url), Time: time.Date(2030, 1, 2, 3, 0, i, 0, time.UTC), URL: url, Status: 200,
			Filename: "x.warc.gz", Offset: int64(i),
		}
		if err := sorter.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := sorter.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// found returns the offsets that Find yields for a URL.
func found(t *testing.T, index []byte, url string) (offsets []int64) {
	t.Helper()
	for e, err := range cdxj.Find(bytes.NewReader(index), int64(len(index)), url) {
		if err != nil {
			t.Fatal(err)
		}
		if e.URL != url {
			t.Errorf("%s was looked for, and %s found", url, e.URL)
		}
		offsets = append(offsets, e.Offset)
	}
	return offsets
}

// Each capture is found by its URL, next to any other URLs.
func TestEachCaptureIsFoundByItsURL(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 50, 3000} {
		var urls []string
		for i := range n {
			urls = append(urls, fmt.Sprintf("http://h%d.example/%s", i%7, strings.Repeat("x", i*31%601)+fmt.Sprint(i)))
		}
		index := indexOf(t, urls...)
		for i, url := range urls {
			if got := found(t, index, url); len(got) != 1 || got[0] != int64(i) {
				t.Errorf("of %d: %s is found at %v, want %d", n, url, got, i)
			}
		}
		for _, url := range []string{"http://a.example/", "http://h3.example/", "http://zz.example/", "ftp://x/"} {
			if got := found(t, index, url); got != nil {
				t.Errorf("of %d: %s is found at %v", n, url, got)
			}
		}
	}
}

// If several URLs have the same key, Find returns all captures of the given URL in order, and no
// others.
func TestURLsThatShareAKeyAreToldApart(t *testing.T) {
	index := indexOf(t, "http://a.example/X", "http://www.a.example/x", "https://a.example/x", "http://a.example/x", "http://a.example/x", "http://a.example/x/")
	if got := fmt.Sprint(found(t, index, "http://a.example/x")); got != "[3 4]" {
		t.Errorf("found at %s", got)
	}
	if got := fmt.Sprint(found(t, index, "https://a.example/x")); got != "[2]" {
		t.Errorf("found at %s", got)
	}
}

// A malformed line gives an error, and hides no other line. The same is true for a last line that
// was cut. An index may consist of one line.
func TestMalformedLinesAreErrors(t *testing.T) {
	good := indexOf(t, "http://a.example/x", "http://a.example/x")
	line, _, _ := bytes.Cut(good, []byte("\n"))
	index := append([]byte("example,a)/x 2020\n"), good...)
	captures, bad := 0, 0
	for e, err := range cdxj.Find(bytes.NewReader(index), int64(len(index)), "http://a.example/x") {
		if err != nil {
			bad++
		} else if e != nil {
			captures++
		}
	}
	if captures != 2 || bad != 1 {
		t.Errorf("%d captures, %d invalid lines", captures, bad)
	}
	torn := append(bytes.Clone(good), line[:len(line)-3]...)
	for _, err := range cdxj.Find(bytes.NewReader(torn), int64(len(torn)), "http://a.example/x") {
		bad++
		if err == nil {
			bad--
		}
	}
	if bad != 2 {
		t.Error("a torn line is not reported")
	}
	zeros := make([]byte, 3<<20)
	told := 0
	for _, err := range cdxj.Find(bytes.NewReader(zeros), int64(len(zeros)), "http://a.example/x") {
		if err != nil {
			told++
		}
	}
	if told != 1 {
		t.Errorf("a line of three megabytes is reported %d times", told)
	}
}

// For any index, Find ends and returns no other URL.
func FuzzFind(f *testing.F) {
	f.Add([]byte("example,a)/x 20300102030405 {\"url\":\"http://a.example/x\"}\n"), uint16(3))
	f.Fuzz(func(t *testing.T, piece []byte, times uint16) {
		index := bytes.Repeat(piece, 1+int(times)%300)
		for e, err := range cdxj.Find(bytes.NewReader(index), int64(len(index)), "http://a.example/x") {
			if err == nil && e.URL != "http://a.example/x" {
				t.Errorf("found %s", e.URL)
			}
		}
	})
}

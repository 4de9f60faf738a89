package warc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func arcRecord(url, fields, block string) string {
	return fmt.Sprintf("%s %s %d\n%s\n", url, fields, len(block), block)
}

// arcRecords are the records of an ARC file of version 1 that also contains two lines of version
// 2.
var arcRecords = []string{
	arcRecord("filedesc://a.arc", "0.0.0.0 20300102030405 text/plain", "1 0 Archive\nURL IP-address Archive-date Content-type Archive-length\n"),
	arcRecord("http://a.example/", "192.0.2.1 20300102030406 text/html", "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nhello"),
	arcRecord("dns:a.example", "192.0.2.53 20300102030407 text/dns", "20300102030407\na.example. 60 IN A 192.0.2.1\n"),
	arcRecord("https://a.example/a b", "- 20300102030408 no-type", "HTTP/1.1 404 Not found\n\n"),
	arcRecord("http://a.example/2", "2001:db8::1 20300102030409 text/html 200 - - 1234 a.arc", "HTTP/1.0 200 OK\n\n"),
	arcRecord("http://a.example/20300102030405 x text/html", "192.0.2.1 20300102030410 image/png 301 abc /there 5678 a.arc", ""),
}

func TestARC(t *testing.T) {
	type seen struct {
		Version, URL, Date, IP, ContentType string
		Type                                Type
		Status                              int
		Length                              int64
	}
	for name, file := range map[string]string{
		"plain":                 strings.Join(arcRecords, ""),
		"line ends between":     strings.Join(arcRecords, "\n\r\n"),
		"without the last byte": strings.TrimSuffix(strings.Join(arcRecords, ""), "\n"),
		"members":               members(arcRecords),
	} {
		var got []seen
		r := NewReader(strings.NewReader(file))
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := ReadAt(strings.NewReader(file), rec.Offset)
			if err != nil || again.TargetURI() != rec.TargetURI() {
				t.Errorf("%s: at %d: %v, %v", name, rec.Offset, again, err)
			}
			if err := rec.Verify(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			p, err := rec.Placed()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s := seen{rec.Version, p.URL, p.Date.Format("150405"), rec.Header.Get(FieldIPAddress), p.ContentType, p.Type, p.Status, rec.Size}
			got = append(got, s)
		}
		want := []seen{
			{"ARC/1", "filedesc://a.arc", "030405", "", "text/plain", Warcinfo, 0, 68},
			{"ARC/1", "http://a.example/", "030406", "192.0.2.1", "text/html", Response, 200, 49},
			{"ARC/1", "dns:a.example", "030407", "192.0.2.53", "text/dns", Resource, 0, 44},
			{"ARC/1", "https://a.example/a b", "030408", "", "", Response, 404, 24},
			{"ARC/2", "http://a.example/2", "030409", "2001:db8::1", "", Response, 200, 17},
			{"ARC/2", "http://a.example/20300102030405 x text/html", "030410", "192.0.2.1", "", Response, 0, 0},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func members(records []string) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(zipped(r))
	}
	return b.String()
}

// A damaged record of an ARC file affects no other record.
func TestDamagedARC(t *testing.T) {
	wrong := strings.Replace(arcRecords[1], " 49\n", " 45\n", 1)
	if wrong == arcRecords[1] {
		t.Fatal("its length is another one")
	}
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"length":             {arcRecords[0] + wrong + strings.Join(arcRecords[2:], ""), errEnd},
		"length in a member": {zipped(arcRecords[0]) + zipped(wrong) + members(arcRecords[2:]), errEnd},
		"no line":            {arcRecords[0] + "junk\n" + strings.Join(arcRecords[2:], ""), errVersion},
		"two in a member":    {zipped(arcRecords[0]) + zipped(arcRecords[1]+arcRecords[1]) + members(arcRecords[2:]), errMember},
	} {
		var urls []string
		var bad error
		r := NewReader(strings.NewReader(c.file))
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err == nil {
				if _, err = rec.Close(); err == nil {
					urls = append(urls, rec.TargetURI())
					continue
				}
			}
			bad = err
			if _, err := r.Skip(); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"filedesc://a.arc", "dns:a.example", "https://a.example/a b", "http://a.example/2", "http://a.example/20300102030405 x text/html"}
		if diff := cmp.Diff(want, urls); diff != "" || !errors.Is(bad, c.want) {
			t.Errorf("%s: %v, want %v (-want +got)\n%s", name, bad, c.want, diff)
		}
	}
}

func FuzzARCLine(f *testing.F) {
	for _, r := range arcRecords {
		line, _, _ := strings.Cut(r, "\n")
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		_, h, ok := parseARC(line)
		if !ok {
			return
		}
		rec := &Record{Header: h, arc: true}
		if err := rec.mandatory(); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !strings.HasPrefix(line, h.Get(FieldTargetURI)+" ") {
			t.Fatalf("%q: URL %q", line, h.Get(FieldTargetURI))
		}
	})
}

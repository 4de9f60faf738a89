package extract

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

func TestQueriesAreSentInTheEncodingOfTheDocument(t *testing.T) {
	raw, err := os.ReadFile("testdata/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Links []string
		Hrefs map[string][]string
	}
	if err := json.Unmarshal(raw, &table); err != nil || len(table.Hrefs) < 20 {
		t.Fatal(err, len(table.Hrefs))
	}
	// x/text lacks the Roman letters of ISO-2022-JP and the tables of ISO-8859-8-I.
	others := map[string]string{"iso-2022-jp": `q=¥\~`, "iso-8859-8-i": "q=\u0081"}
	for label, hrefs := range table.Hrefs {
		_, name := charset.Lookup(label)
		for i, link := range table.Links {
			if other := others[label]; other != "" && strings.HasSuffix(link, other) {
				continue
			}
			page := `<base href=http://b.test/dir/page><a href="` + html.EscapeString(link) + `">`
			links := HTML([]byte(page), parse(t, "http://a.example/"), "text/html", Options{Charset: name}).Links
			if len(links) != 1 || links[0].URL.String() != hrefs[i] {
				t.Errorf("%s: %q is %v, want %s", label, link, links, hrefs[i])
			}
		}
	}
}

func TestControlsOfSingleByteEncodings(t *testing.T) {
	for label, want := range map[string]string{"latin1": "\u0081\u008d", "iso-8859-2": "\u0081\u008d", "windows-1251": "\u0403\u040c", "windows-1253": "\u0081\u008d", "koi8-r": "\u2502\u2588"} {
		if got, name := Decode([]byte("\x81\x8d"), "text/html; charset="+label); string(got) != want {
			t.Errorf("%s: %q as %s", label, got, name)
		}
	}
	if got, _ := Decode([]byte("\xaa\xd2"), "text/html; charset=windows-1253"); string(got) != "\ufffd\ufffd" {
		t.Errorf("greek: %q", got)
	}
}

func TestDeclaredEncodings(t *testing.T) {
	late := strings.Repeat("<!-- licence -->", 100)
	for _, tc := range []struct{ name, html, contentType, want string }{
		{"meta", `<meta charset="koi8-r">`, "", "koi8-r"},
		{"late meta", late + "<meta charset=windows-1251>", "text/html", "windows-1251"},
		{"late http-equiv", late + `<META content='text/html; charset = "Windows-1251"' HTTP-EQUIV=Content-Type>`, "", "windows-1251"},
		{"after a drawing", late + "<svg><title/></svg><meta charset=windows-1251>", "", "windows-1251"},
		{"after a lost drawing", late + "<div><svg></div><title>x</title><meta charset=windows-1251>", "", "windows-1251"},
		{"of something else", "<link charset=koi8-r rel=next href=x><a charset=koi8-r href=x>é", "", "utf-8"},
		{"in a comment", "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>", "", "windows-1251"},
		{"in a script", "<script>'<meta charset=koi8-r>'</script><meta charset=windows-1251>", "", "windows-1251"},
		{"unknown, then known", "<meta charset=x><meta charset=windows-1251>", "", "windows-1251"},
		{"first of two", "<meta charset=koi8-r><meta charset=windows-1251>", "", "koi8-r"},
		{"header first", "<meta charset=koi8-r>", "text/html; charset=windows-1251", "windows-1251"},
		{"unknown header", "<meta charset=koi8-r>", "text/html; charset=x", "koi8-r"},
		{"utf-16 cannot be", "<meta charset=utf-16>", "", "utf-8"},
		{"x-user-defined in meta", "<meta charset=x-user-defined>", "", "windows-1252"},
		{"x-user-defined in header", "", "text/html; charset=x-user-defined", "x-user-defined"},
		{"not http-equiv", "<meta name=content-type content='text/html; charset=koi8-r'>é", "", "utf-8"},
		{"second charset in content", "<meta http-equiv=content-type content='charsets, charset=koi8-r;x'>", "", "koi8-r"},
		{"no end of quotes", `<meta http-equiv=content-type content='charset="koi8-r'>é`, "", "utf-8"},
		{"no equals sign", "<meta http-equiv=content-type content='charset koi8-r'>é", "", "utf-8"},
		{"no label", "<meta http-equiv=content-type content='charset='>é", "", "utf-8"},
		{"xml", `<?xml version="1.0" encoding="koi8-r"?><html>`, "application/xhtml+xml", "koi8-r"},
		{"xml, single quotes", `<?xml encoding = 'koi8-r' ?>`, "text/html", "koi8-r"},
		{"meta before xml", `<?xml encoding="koi8-r"?><meta charset=windows-1251>`, "", "windows-1251"},
		{"utf-16 in xml", `<?xml encoding="utf-16"?>`, "", "utf-8"},
		{"xml without quotes", `<?xml encoding=koi8-r?>é`, "", "utf-8"},
		{"xml without equals sign", `<?xml encoding "koi8-r"?>é`, "", "utf-8"},
		{"xml without a label", `<?xml encoding=`, "", "utf-8"},
		{"after the xml declaration", `<?xml version="1.0"?><p encoding="koi8-r">é`, "", "utf-8"},
		{"not at the start", ` <?xml encoding="koi8-r"?>é`, "", "utf-8"},
		{"plain text declares nothing", "<meta charset=koi8-r>é", "text/plain", "utf-8"},
		{"cut within a character", "naïve 日"[:len("naïve 日")-1], "text/html", "utf-8"},
		{"cut within a long character", "naïve 😀"[:len("naïve 😀")-1], "text/html", "utf-8"},
		{"cut by two bytes", "naïve 😀"[:len("naïve 😀")-2], "text/html", "utf-8"},
		{"cut by three bytes", "naïve 😀"[:len("naïve 😀")-3], "text/html", "utf-8"},
		{"byte order mark", "\xfe\xff\x00h", "text/html; charset=utf-8", "utf-16be"},
	} {
		if _, name := Decode([]byte(tc.html), tc.contentType); name != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, name, tc.want)
		}
	}
}

// The encoding of a text is guessed if it declares none.
func TestEncodingsAreGuessed(t *testing.T) {
	for _, tc := range []struct{ encoding, text string }{
		{"windows-1251", "Пакет не може бути встановлений, оскільки він залежить від іншого пакета, якого немає."},
		{"windows-1251", "Съешь ещё этих мягких французских булок, да выпей чаю. Это простой текст."},
		{"koi8-r", "Съешь ещё этих мягких французских булок, да выпей чаю. Это простой текст."},
		{"iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy. Balík nelze nainstalovat, protože závisí na jiném balíku."},
		{"windows-1252", "The fee is 20 €, “all included”, says José — naïve, isn’t it?"},
		{"windows-1252", "Größe und Änderung der Übersetzung für Straßen"},
		{"shift_jis", "パッケージをインストールできません。依存関係を確認してください。"},
		{"euc-jp", "パッケージをインストールできません。依存関係を確認してください。"},
		{"iso-2022-jp", "パッケージをインストールできません。依存関係を確認してください。"},
		{"euc-kr", "패키지를 설치할 수 없습니다. 의존 관계를 확인하십시오."},
		{"big5", "無法安裝套件，請檢查相依關係。這是一個簡單的文字。"},
	} {
		e, _ := charset.Lookup(tc.encoding)
		page := []byte("<title>x</title><p class=text>" + tc.text + "</p>")
		encoded, err := e.NewEncoder().Bytes(page)
		if err != nil {
			t.Fatal(err)
		}
		if got, name := Decode(encoded, "text/html"); !bytes.Equal(got, page) {
			t.Errorf("%s is read as %s: %s", tc.encoding, name, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=koi8-r>\xc1"), "text/html")
	f.Add([]byte(`<?xml encoding="gbk"?>`), "text/xml")
	f.Add([]byte("\xff\xfea\x00"), "text/html; charset=utf-8")
	f.Add([]byte("<meta http-equiv=content-type content='charset=\"big5\"'>\xa4\x40"), "")
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name := Decode(body, contentType)
		if e, _ := charset.Lookup(name); e == nil {
			t.Fatalf("%q is no encoding", name)
		}
		for _, l := range HTML(text, u, "text/html", Options{Charset: name}).Links {
			if again, err := u.Resolve(l.URL.String()); err != nil || again != l.URL {
				t.Fatalf("link %q becomes %q, %v", l.URL, again, err)
			}
		}
	})
}

// If a page contains "charset" very often, the time to read it still grows only with its length.
func TestManyCharsetsInOneElement(t *testing.T) {
	page := []byte(`<meta http-equiv=Content-Type content="` + strings.Repeat("CHARSET ", 4000) + `charset=windows-1251">` + "\xe4")
	var name string
	if n := testing.AllocsPerRun(1, func() { _, name = Decode(page, "text/html") }); n > 200 {
		t.Errorf("%v allocations", n)
	}
	if name != "windows-1251" {
		t.Errorf("read as %s", name)
	}
}

package extract

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// scanned returns the tags of a document, each with the text before it.
func scanned(body string) []string {
	x := newXMLScanner(strings.NewReader(body), frontier.URL{})
	var tags []string
	for {
		x.collect()
		token := x.next()
		text, _ := x.collected()
		switch token {
		case xmlEOF:
			return tags
		case xmlStart:
			tag := text + "<" + x.name
			for _, a := range x.attrs {
				tag += " " + a.name + "=" + a.value
			}
			tags = append(tags, tag)
		case xmlEnd:
			tags = append(tags, text+"</"+x.name)
		}
	}
}

// strictly returns the same as scanned, but with package encoding/xml. It returns false if the
// document is not well-formed.
func strictly(body string) ([]string, bool) {
	d := xml.NewDecoder(strings.NewReader(body))
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("not in UTF-8") }
	var tags []string
	text := ""
	for {
		token, err := d.Token()
		if err != nil {
			return tags, errors.Is(err, io.EOF)
		}
		switch t := token.(type) {
		case xml.CharData:
			text += string(t)
			continue
		case xml.StartElement:
			tag := strings.Trim(text, blanks) + "<" + strings.ToLower(t.Name.Local)
			for _, a := range t.Attr {
				tag += " " + strings.ToLower(a.Name.Local) + "=" + strings.Trim(a.Value, blanks)
			}
			tags = append(tags, tag)
		case xml.EndElement:
			tags = append(tags, strings.Trim(text, blanks)+"</"+strings.ToLower(t.Name.Local))
		default:
			continue
		}
		text = ""
	}
}

func TestScannerOfXML(t *testing.T) {
	for _, tc := range []struct {
		body string
		want []string
	}{
		{"<a><b/>x</a>", []string{"<a", "<b", "</b", "x</a"}},
		{"<A:b C:d='e'\nf = \"g>'h\">x</A:b\t>", []string{"<b d=e f=g>'h", "x</b"}},
		{"<a>1 &lt; 2 &amp;&#x26;&#38; &x; & &amp</a>", []string{"<a", "1 < 2 &&& &x; & &</a"}},
		{"<a><![CDATA[<b>&amp;]]]]><![CDATA[>]]>c<!-- - -- -> --><?d >?></a>", []string{"<a", "<b>&amp;]]>c</a"}},
		{"<a b=c d='&amp;'>x</a>", []string{"<a b=c d=&", "x</a"}},
		{"<a b='<c>' d>1 < 2 <3></a>", []string{"<a b=<c>", "1 < 2 <3></a"}},
		{"<!DOCTYPE a PUBLIC '-//x' [ <!ENTITY b '[c]'> <!-- > --> ] ><a>&b;</a>", []string{"<a", "&b;</a"}},
		{"<a><b", []string{"<a"}},
		{"<a b='c", nil},
		{"</a></a/><b/>", []string{"</a", "</a", "<b", "</b"}},
		{"<", nil}, {"<!", nil}, {"<!--", nil}, {"<![CDATA[", nil}, {"<?", nil}, {"", nil}, {"x", nil},
		{"<é ü='ä'/>", []string{"<é ü=ä", "</é"}},
	} {
		if got := scanned(tc.body); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.body, got, tc.want)
		}
	}
}

func FuzzXML(f *testing.F) {
	for _, s := range []string{"<a b='c'>&lt;<!-- x --><![CDATA[]]]]>&#x41;<d/></a>", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a:b xmlns:a='x' a:c=\"'\"/>", "<a>\r\n</a>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got := scanned(body)
		// Documents with declarations or other line ends are not compared.
		want, ok := strictly(body)
		if declaration := strings.ReplaceAll(strings.ReplaceAll(body, "<!--", ""), "<![CDATA[", ""); strings.Contains(declaration, "<!") || strings.Contains(body, "\r") {
			return
		}
		if ok && !slices.Equal(got, want) {
			t.Fatalf("%q:\n%q, by encoding/xml\n%q", body, got, want)
		}
	})
}

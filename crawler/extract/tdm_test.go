package extract_test

import (
	"testing"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Meta elements can reserve text and data mining. The most restrictive element applies.
func TestMetaElementsReserveMining(t *testing.T) {
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	for html, want := range map[string]robots.TDM{
		`<meta name="robots" content="1">`: {},
		`<meta name="TDM-Reservation" content="1"><meta content="/p?a&amp;b" name=tdm-policy>`:        {Mining: robots.Refused, Policy: "/p?a&b"},
		`<meta name=tdm-reservation content=0>`:                                                       {Mining: robots.Granted},
		`<meta name=tdm-reservation content=1><p><meta name=tdm-reservation content=0>`:               {Mining: robots.Refused},
		`<!-- <meta name=tdm-reservation content=1> --><script><meta name=tdm-reservation content=1>`: {},
		`<meta property="tdm-reservation" content="1">`:                                               {},
	} {
		if got := extract.HTML([]byte(html), u, "text/html", extract.Options{}).TDM; got != want {
			t.Errorf("%s: %+v, want %+v", html, got, want)
		}
	}
}

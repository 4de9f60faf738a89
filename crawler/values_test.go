package crawler

import (
	"net/http"
	"testing"
)

// A run says that fields were changed, and does not say what is in them. The
// names are kept with the crawl: those of one version are those of the next.
func TestFieldNamesHideTheirValues(t *testing.T) {
	for _, test := range []struct {
		fields http.Header
		want   string
	}{
		{nil, ""},
		{http.Header{"Cookie": {"secret"}}, "Cookie#fbec58"},
		{http.Header{"Cookie": {"secret", "another"}}, "Cookie#727c28"},
		{http.Header{"Cookie": {"secret another"}}, "Cookie#5d5d16"},
		{http.Header{"X-Project": {"thesis"}, "Cookie": {"secret"}}, "Cookie#fbec58 X-Project#fa06ce"},
	} {
		if got := (fields{&test.fields}).String(); got != test.want {
			t.Errorf("%v: %q, want %q", test.fields, got, test.want)
		}
	}
}

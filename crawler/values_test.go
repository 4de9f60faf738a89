package crawler

import (
	"net/http"
	"testing"
)

// Changed header fields are reported without their values. The stored form of their names must be
// the same in all versions.
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

package kept

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// values are stored values in JSON, by key.
type values map[string]string

func (v values) Get(key string, value any) (ok bool, err error) {
	text, ok := v[key]
	if ok {
		err = json.Unmarshal([]byte(text), value)
	}
	return ok, err
}

func (v values) Keys(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if name, ok := strings.CutPrefix(key, prefix); ok && !yield(name, nil) {
				return
			}
		}
	}
}

// Orders apply to a site, to all sites of a host, or to all sites. Orders that were revoked do not
// apply.
func TestOrdersApplyToTheirSites(t *testing.T) {
	orders, err := Orders("a.crawl", values{
		"order exclude a.example":         `{"time":"2030-01-02T00:00:00Z","do":"exclude","of":"a.example","reason":"the host"}`,
		"order exclude http://a.example":  `{"time":"2030-01-03T00:00:00Z","do":"exclude","of":"http://a.example","reason":"the site"}`,
		"order exclude https://b.example": `{"time":"2030-01-01T00:00:00Z","do":"exclude","of":"https://b.example","reason":"a mail"}`,
		"order exclude c.example":         `{"time":"2030-01-04T00:00:00Z","do":"lift","of":"c.example","what":"exclude"}`,
		"order slow ":                     `{"time":"2030-01-05T00:00:00Z","do":"slow","what":"2s"}`,
		"order slow b.example":            `{"time":"2030-01-05T00:00:00Z","do":"slow","of":"b.example","what":"20s"}`,
		"order slow https://c.example":    `{"time":"2030-01-05T00:00:00Z","do":"slow","of":"https://c.example","what":"1s"}`,
		"other":                           `{"do":"exclude","of":"d.example","reason":"no order"}`,
	})
	if err != nil || len(orders) != 6 || orders[0].Of != "https://b.example" {
		t.Fatal(orders, err)
	}
	excluded, pauses := ExclusionsOf(orders), PausesOf(orders)
	for site, want := range map[frontier.Site]struct {
		of, why string
		pause   time.Duration
	}{
		"http://a.example": {"a.example", "the host", 2 * time.Second}, "https://a.example:444": {"a.example", "the host", 2 * time.Second},
		"https://b.example": {"https://b.example", "a mail", 20 * time.Second}, "http://b.example": {"", "", 20 * time.Second},
		"https://c.example": {"", "", 2 * time.Second}, "http://sub.a.example": {"", "", 2 * time.Second},
	} {
		if of, why := excluded.Of(site); of != want.of || why != want.why || pauses.Of(site) != want.pause {
			t.Errorf("%s is excluded as %q: %q, pause %v; want %+v", site, of, why, pauses.Of(site), want)
		}
	}
	if all, err := Orders("a.crawl", values{}); err != nil || all != nil {
		t.Errorf("without orders: %v, %v", all, err)
	}
}

// An order that cannot be read is an error, and no order that is left out.
func TestDamagedOrdersAreErrors(t *testing.T) {
	for _, text := range []string{
		`{"do":"exclude","of":"a.example"}`, `{"do":"slow","of":"a.example","what":"soon"}`, `{"do":"pause"}`, `{}`, `{"do":"exclude"`, `7`,
	} {
		all, err := Orders("a.crawl", values{"order x": text})
		var damaged *store.DamagedError
		if readable := json.Valid([]byte(text)) && text[0] == '{'; err == nil || all != nil || errors.As(err, &damaged) != readable {
			t.Errorf("%s: %v, %v (%v)", text, all, err, reflect.TypeOf(err))
		}
	}
}

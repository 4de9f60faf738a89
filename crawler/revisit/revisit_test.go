package revisit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"pgregory.net/rapid"
)

func TestARateIsEstimatedWithLittleBias(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, rate := range []float64{0.1, 0.5, 1} { // changes per day; there is one visit per day
		for _, visits := range []int{10, 30} {
			var estimated, counted float64
			const pages = 20000
			for range pages {
				var h revisit.History
				for range visits {
					h = h.And(day, random.Float64() < -math.Expm1(-rate))
				}
				estimated += h.Rate(day) / pages
				counted += float64(h.Changes) / float64(visits) / pages
			}
			if off := math.Abs(estimated/rate - 1); off > 0.05 {
				t.Errorf("%d visits of pages that change %v times a day: estimated are %.3f, %.0f %% off (what was counted: %.3f)", visits, rate, estimated, 100*off, counted)
			}
		}
	}
	if rate := (revisit.History{}).Rate(day); rate != 0 {
		t.Errorf("a page with one visit: %v", rate)
	}
}

func TestPoliciesAnswerWhatTheyPromise(t *testing.T) {
	week := 7 * day
	seen := func(seen, changes int, pause time.Duration, changed bool) revisit.Visit {
		return revisit.Visit{History: revisit.History{Seen: seen, Changes: changes, Watched: time.Duration(seen) * pause}, Pause: pause, Changed: changed}
	}
	hinted := func(v revisit.Visit, h revisit.Hints) revisit.Visit { v.Hints = h; return v }
	list := func(v revisit.Visit) revisit.Visit { v.List = true; return v }
	adaptive := revisit.Adaptive{Least: time.Hour, Most: 100 * time.Hour}
	rate := revisit.Rate{Mean: week}
	hints := revisit.Hinted{Else: revisit.Fixed{week}, Least: day, Most: 30 * day}
	for _, test := range []struct {
		name        string
		policy      revisit.Policy
		visit       revisit.Visit
		least, most time.Duration
	}{
		{"fixed", revisit.Fixed{week}, seen(5, 5, day, true), week, week},
		{"adaptive, first", adaptive, revisit.Visit{}, 10 * time.Hour, 10 * time.Hour},
		{"adaptive, changed", adaptive, seen(3, 1, 10*time.Hour, true), 6 * time.Hour, 6 * time.Hour},
		{"adaptive, not changed", adaptive, seen(3, 1, 10*time.Hour, false), 14 * time.Hour, 14 * time.Hour},
		{"adaptive, no sooner", adaptive, seen(3, 1, time.Hour, true), time.Hour, time.Hour},
		{"adaptive, no later", adaptive, seen(3, 1, 90*time.Hour, false), 100 * time.Hour, 100 * time.Hour},
		{"adaptive, by other factors", revisit.Adaptive{Least: time.Hour, Most: week, Start: day, Sooner: 0.5, Later: 2}, seen(1, 0, day, false), 2 * day, 2 * day},
		{"rate, first", rate, revisit.Visit{}, week, week},
		{"rate, as often as it changes", rate, seen(1000, 632, week, true), week * 99 / 100, week * 101 / 100},
		{"rate, hardly ever", rate, seen(1000, 5, week, true), 60 * day, 70 * day},
		{"rate, twice in its time", rate, seen(1000, 865, week, true), week * 6 / 10, week * 9 / 10},
		{"rate, all the time", rate, seen(1000, 999, week, true), 70 * day, 70 * day},
		{"hints, none", hints, revisit.Visit{}, week, week},
		{"hints, changes daily", hints, hinted(revisit.Visit{}, revisit.Hints{Every: day}), day, day},
		{"hints, changes hourly", hints, hinted(revisit.Visit{}, revisit.Hints{Every: time.Hour}), day, day},
		{"hints, but it is known better", hints, hinted(seen(3, 0, week, false), revisit.Hints{Every: day}), week, week},
		{"hints, old", hints, hinted(revisit.Visit{}, revisit.Hints{Age: 200 * day}), 20 * day, 20 * day},
		{"hints, very old", hints, hinted(revisit.Visit{}, revisit.Hints{Age: 2000 * day}), 30 * day, 30 * day},
		{"hints, fresh for long", hints, hinted(seen(9, 9, week, true), revisit.Hints{Fresh: 20 * day}), 20 * day, 20 * day},
		{"hints, fresh for ever", hints, hinted(seen(9, 9, week, true), revisit.Hints{Fresh: 2000 * day}), 30 * day, 30 * day},
		{"hints, a list, first", hints, list(revisit.Visit{}), day, day},
		{"hints, a list that says how often", hints, list(hinted(revisit.Visit{}, revisit.Hints{Every: 2 * day, Age: 200 * day})), 2 * day, 2 * day},
		{"hints, a list that says that for long", hints, list(hinted(revisit.Visit{}, revisit.Hints{Every: 200 * day})), 30 * day, 30 * day},
		{"hints, a list that changes all the time", hints, list(seen(1000, 999, week, true)), week * 6 / 10, week * 6 / 10},
		{"hints, a list that does not change", hints, list(seen(1000, 0, week, false)), week * 14 / 10, week * 14 / 10},
		{"hints, a list that is fresh for long", hints, list(hinted(seen(9, 9, week, true), revisit.Hints{Fresh: 20 * day})), 20 * day, 20 * day},
		{"hints without bounds, a list", revisit.Hinted{Else: revisit.Fixed{week}}, list(revisit.Visit{}), week, week},
		{"hints, fresh for a moment", hints, hinted(seen(9, 9, week, true), revisit.Hints{Fresh: time.Second}), week, week},
	} {
		if got := test.policy.Next(test.visit); got < test.least || got > test.most {
			t.Errorf("%s: %v, want %v to %v", test.name, got, test.least, test.most)
		}
	}
}

func TestAPauseIsWithinItsBounds(t *testing.T) {
	span := rapid.Int64Range(int64(time.Minute), int64(revisit.Longest))
	rapid.Check(t, func(t *rapid.T) {
		seen := rapid.IntRange(0, 1000).Draw(t, "seen")
		v := revisit.Visit{
			History: revisit.History{Seen: seen, Changes: rapid.IntRange(0, seen).Draw(t, "changes"), Watched: time.Duration(span.Draw(t, "watched"))},
			Pause:   time.Duration(span.Draw(t, "pause")),
			Changed: rapid.Bool().Draw(t, "changed"), List: rapid.Bool().Draw(t, "list"),
			Hints: revisit.Hints{Fresh: time.Duration(span.Draw(t, "fresh")), Age: time.Duration(span.Draw(t, "age")), Every: time.Duration(span.Draw(t, "every"))},
		}
		mean := time.Duration(rapid.Int64Range(int64(time.Minute), int64(365*day)).Draw(t, "mean"))
		least, most := mean/10, 10*mean
		for _, p := range []revisit.Policy{
			revisit.Rate{Mean: mean}, revisit.Adaptive{Least: least, Most: most}, revisit.Hinted{Else: revisit.Rate{Mean: mean}, Least: least, Most: most},
		} {
			if got := p.Next(v); got < least || got > most {
				t.Fatalf("%T: %v is not between %v and %v", p, got, least, most)
			}
		}
	})
}

func TestHintsAreReadFromHeaderFields(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	date := now.Format(http.TimeFormat)
	for _, test := range []struct {
		header map[string][]string
		want   revisit.Hints
	}{
		{nil, revisit.Hints{}},
		{map[string][]string{"Cache-Control": {"public, max-age=3600"}}, revisit.Hints{Fresh: time.Hour}},
		{map[string][]string{"Cache-Control": {"public", "Max-Age=\"60\", max-age=3600"}}, revisit.Hints{Fresh: time.Minute}},
		{map[string][]string{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}, revisit.Hints{Fresh: 50 * time.Minute}},
		{map[string][]string{"Cache-Control": {"max-age=3600"}, "Age": {"6000"}}, revisit.Hints{}},
		{map[string][]string{"Cache-Control": {"max-age=0"}, "Expires": {now.Add(day).Format(http.TimeFormat)}}, revisit.Hints{}},
		{map[string][]string{"Cache-Control": {"max-age=-1"}}, revisit.Hints{}},
		{map[string][]string{"Cache-Control": {"max-age=99999999999999999999"}}, revisit.Hints{Fresh: 1 << 31 * time.Second}},
		{map[string][]string{"Cache-Control": {"no-cache, max-age=3600"}}, revisit.Hints{}},
		{map[string][]string{"Expires": {now.Add(day).Format(http.TimeFormat)}}, revisit.Hints{Fresh: day}},
		{map[string][]string{"Expires": {now.Add(day).Format(http.TimeFormat)}, "Date": {now.Add(time.Hour).Format(http.TimeFormat)}}, revisit.Hints{Fresh: 23 * time.Hour}},
		{map[string][]string{"Expires": {"0"}, "Date": {date}}, revisit.Hints{}},
		{map[string][]string{"Last-Modified": {now.Add(-10 * day).Format(http.TimeFormat)}}, revisit.Hints{Age: 10 * day}},
		{map[string][]string{"Last-Modified": {now.Add(10 * day).Format(http.TimeFormat)}}, revisit.Hints{}},
	} {
		if got := revisit.ReadHints(test.header, now); got != test.want {
			t.Errorf("%v: %+v, want %+v", test.header, got, test.want)
		}
	}
}

func TestPoliciesAreReadFromText(t *testing.T) {
	for text, want := range map[string]revisit.Policy{
		"fixed:7d":        revisit.Fixed{7 * day},
		"fixed:1d12h":     revisit.Fixed{36 * time.Hour},
		"adaptive:1h-30d": revisit.Adaptive{Least: time.Hour, Most: 30 * day},
		"rate:2w":         revisit.Rate{Mean: 14 * day},
		"hints:10d":       revisit.Hinted{Else: revisit.Rate{Mean: 10 * day}, Least: day, Most: 100 * day},
	} {
		if got, err := revisit.Parse(text); got != want || err != nil {
			t.Errorf("%s: %#v, %v, want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "weekly", "fixed", "fixed:", "fixed:7", "fixed:-7d", "fixed:0d", "rate:1s", "adaptive:7d", "adaptive:7d-1h", "adaptive:-", "hints:9999w"} {
		if p, err := revisit.Parse(text); err == nil {
			t.Errorf("%q is read as %#v", text, p)
		}
	}
}

func ExamplePolicy() {
	policy := revisit.Rate{Mean: 7 * 24 * time.Hour}
	v := revisit.Visit{Pause: 7 * 24 * time.Hour} // the second visit, a week after the first
	for range 4 {
		v.History = v.And(v.Pause, v.Changed)
		v.Pause = policy.Next(v).Round(time.Hour)
		fmt.Println(v.Pause)
	}
	// Output:
	// 212h0m0s
	// 257h0m0s
	// 302h0m0s
	// 348h0m0s
}

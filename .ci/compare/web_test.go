package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// Each figure counts what its name says, and nothing else.
func TestTheShopJudges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := 0
		s := &shop{strike: 4, kill: func() { killed++ }}
		for _, step := range []struct {
			after  time.Duration
			target string
			status int
			want   figures
		}{
			{0, "/robots.txt", 200, figures{Requests: 1}},
			{0, "/", 200, figures{Requests: 2}},
			{2 * time.Second, "/book/1?utm_source=related", 200, figures{Requests: 3}},
			{time.Second, "/list?page=1", 200, figures{Requests: 4, Early: 1}},
			{2 * time.Second, "/list?page=1&sort=price", 200, figures{Requests: 5, Early: 1, Disallowed: 1}},
			{2 * time.Second, "/basket/add?book=1", 200, figures{Requests: 6, Early: 1, Disallowed: 2}},
			{2 * time.Second, "/offer", 302, figures{Requests: 7, Early: 1, Disallowed: 2}},
			{2 * time.Second, "/basket/offer", 200, figures{Requests: 8, Early: 1, Disallowed: 2, Redirected: 1}},
			{2 * time.Second, "/busy", 503, figures{Requests: 9, Early: 1, Disallowed: 2, Redirected: 1}},
			{2 * time.Second, "/busy", 503, figures{Requests: 10, Early: 1, Disallowed: 2, Redirected: 1, Closed: 1}},
			{2 * time.Second, "/gone", 404, figures{Requests: 11, Early: 1, Disallowed: 2, Redirected: 1, Closed: 2}},
			{2 * time.Second, "/busy", 200, figures{Requests: 12, Early: 1, Disallowed: 2, Redirected: 1, Closed: 2}},
			{2 * time.Second, "/list?page=4", 404, figures{Requests: 13, Early: 1, Disallowed: 2, Redirected: 1, Closed: 2}},
		} {
			time.Sleep(step.after)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://shop.test"+step.target, nil))
			if w.Code != step.status || s.figures != step.want {
				t.Errorf("%s: %d, %+v; want %d, %+v", step.target, w.Code, s.figures, step.status, step.want)
			}
		}
		if killed != 1 {
			t.Errorf("killed %d times", killed)
		}
	})
}

// What a killed run has lost, and what it has reported twice.
func TestWhatIsLostAndTwice(t *testing.T) {
	whole := run{Items: map[string]int{"a": 1, "b": 1, "c": 1}}
	killed := run{Items: map[string]int{"a": 3, "b": 1, "d": 1}}
	if lost, twice := killed.lost(whole), killed.twice(); lost != 1 || twice != 2 {
		t.Errorf("%d lost, %d twice", lost, twice)
	}
}

func TestOnlyLinesOfCodeCount(t *testing.T) {
	for source, want := range map[string]int{"scrapy/sitemap.py": 7, "colly/titles/main.go": 20, "../../examples/robotsproxy/main.go": 94} {
		e := entry{source: source}
		if n, err := e.lines(); err != nil || n != want {
			t.Errorf("%s: %d lines, want %d; %v", source, n, want, err)
		}
	}
}

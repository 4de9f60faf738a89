package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Requests of the robots commands have a From field, as those of a crawl.
func TestFromStandsInWhatRobotsCommandsAsk(t *testing.T) {
	var from, agent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, agent = r.Header.Get("From"), r.UserAgent()
	}))
	defer server.Close()
	at := "::" + strings.TrimPrefix(server.URL, "http://")
	for _, contact := range [][]string{{"--contact", "x@example.org"}, {"--contact", "https://example.org/bot", "--contact", "x@example.org"}, {"--contact", "x@example.org", "--contact", "https://example.org/bot"}} {
		for _, args := range [][]string{{"test", "--agent", "mybot", "/x"}, {"show"}, {"lint"}} {
			from = ""
			args = append(append([]string{"robots"}, args...), "--site", "http://a.test/", "--name", "mybot", "--connect-to", at)
			var said bytes.Buffer
			code := run(append(args, contact...), nil, &said, &said)
			if from != "x@example.org" || len(contact) > 2 && !strings.Contains(agent, "(+https://example.org/bot)") {
				t.Errorf("%q: exit %d, From %q, User-Agent %q\n%s", args, code, from, agent, &said)
			}
		}
	}
}

func TestTwoContactsAreAURLAndAnAddress(t *testing.T) {
	for _, env := range []string{"", "https://example.org/bot y@example.org"} {
		t.Setenv("CRAWL_CONTACT", env)
		p := &program{}
		for _, tc := range []struct {
			contacts []string
			want     string // the From field; empty for an error
		}{
			{[]string{"x@example.org", "https://example.org/"}, "x@example.org"},
			{[]string{"https://example.org/", "https://example.org/2"}, ""},
			{[]string{"https://example.org/", "x@example.org", "z@example.org"}, ""},
		} {
			if id, err := p.identity("mybot", tc.contacts); (err == nil) != (tc.want != "") || id.From() != tc.want && err == nil {
				t.Errorf("%q: %+v, %v", tc.contacts, id, err)
			}
		}
		if env == "" {
			continue
		}
		if id, err := p.identity("mybot", nil); err != nil || id.From() != "y@example.org" || id.Contact != "https://example.org/bot" {
			t.Errorf("%q: %+v, %v", env, id, err)
		}
	}
}

package crawler_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// If a seed is a public site, a contact that cannot be reached from the Internet is refused,
// because site owners need it to reach the operator.
func TestUnreachableContactsAreRefusedForPublicSites(t *testing.T) {
	const public, own = "http://www.debian.org/", "http://127.0.0.1:8080/"
	for _, c := range []struct {
		contact, mail string
		field, says   string // field and text of the error; both empty if none exists
	}{
		{"https://crawler.debian.org/bot", "", "", ""},
		{"me@debian.org", "", "", ""},
		{"https://crawler.debian.org/bot", "me@debian.org", "", ""},
		{"https://localhost/bot", "", "Identity.Contact", "localhost is reserved"},
		{"https://localhost./bot", "", "Identity.Contact", "is reserved"},
		{"you@example.com", "", "Identity.Contact", "example.com is reserved"},
		{"https://www.EXAMPLE.org/bot", "", "Identity.Contact", "is reserved"},
		{"https://bot.test/", "", "Identity.Contact", "bot.test is reserved"},
		{"https://notexample.org/bot", "", "", ""},
		{"me@printer.local", "", "Identity.Contact", "printer.local is reserved"},
		{"me@box.home.arpa", "", "Identity.Contact", "box.home.arpa is reserved"},
		{"https://wiki.corp.internal/bot", "", "Identity.Contact", "wiki.corp.internal is reserved"},
		{"root@box", "", "Identity.Contact", "box is a name within a network"},
		{"https://[2600:1408::1]/bot", "", "", ""},
		{"https://wiki/bot", "", "Identity.Contact", "wiki is a name within a network"},
		{"https://127.0.0.1/bot", "", "Identity.Contact", "127.0.0.1 is an address that others cannot reach"},
		{"https://[::1]/bot", "", "Identity.Contact", "is an address that others cannot reach"},
		{"https://192.168.1.1:8080/bot", "", "Identity.Contact", "is an address that others cannot reach"},
		{"https://crawler.debian.org/bot", "me@host.invalid", "Identity.Mail", "host.invalid is reserved"},
	} {
		id := crawler.Identity{Token: "testbot", Contact: c.contact, Mail: c.mail}
		_, err := crawler.New(crawler.Options{Identity: id, Seeds: []string{own, public}})
		var option *crawler.OptionError
		switch errors.As(err, &option) {
		case true:
			if option.Field != c.field || c.says == "" || !strings.Contains(option.Reason, c.says) {
				t.Errorf("%s, %s: %v", c.contact, c.mail, err)
			}
		default:
			if err != nil || c.field != "" {
				t.Errorf("%s, %s: %v, want an error of %q", c.contact, c.mail, err, c.field)
			}
		}
		for what, o := range map[string]crawler.Options{
			"one's own site":  {Seeds: []string{own}},
			"a web in memory": {Seeds: []string{public}, Wire: crawler.Wire{Network: crawltest.New(t)}},
		} {
			o.Identity = id
			if _, err := crawler.New(o); err != nil {
				t.Errorf("%s, %s, %s: %v", c.contact, c.mail, what, err)
			}
		}
	}
}

// A public seed that is added with Add needs a contact like a seed in Options.Seeds.
func TestAPublicSeedThatIsAddedNeedsAContact(t *testing.T) {
	const public, own = "http://www.debian.org/", "http://127.0.0.1:8080/"
	for contact, refused := range map[string]bool{"you@example.com": true, "me@debian.org": false} {
		c, err := crawler.New(crawler.Options{Identity: crawler.Identity{Token: "testbot", Contact: contact}, Seeds: []string{own}})
		if err != nil {
			t.Fatal(err)
		}
		if err := second(c.Add(own + "1")); err != nil {
			t.Errorf("%s: %v", contact, err)
		}
		option := new(crawler.OptionError)
		if err := second(c.Add(own+"2", public)); refused != (errors.As(err, &option) && option.Field == "Identity.Contact") || !refused && err != nil {
			t.Errorf("%s: %v, want refused: %v", contact, err, refused)
		}
	}
}

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/botpage"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/identity"
)

// keyFile writes a private key, and returns the path of its file.
func keyFile(t *testing.T, seed byte) string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// published puts the files that crawl identity publish writes on a site, after change has changed
// them. It returns the site.
func published(t *testing.T, w *crawltest.Web, key string, change func(files map[string]string)) *crawltest.Site {
	t.Helper()
	f := publishFlags{why: "We study.", use: "Counts.", ips: []string{"16.0.0.0/28"}, keys: []string{key}}
	f.who = whoFlags{"mybot", []string{"https://bot.example/about", "me@bot.example"}}
	page, err := f.page()
	if err != nil {
		t.Fatal(err)
	}
	files, err := page.Files()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Path] = string(f.Text)
	}
	if change != nil {
		change(texts)
	}
	site := w.Site("https://bot.example").Page("/about", texts["index.html"]).File("/ips.json", "application/json", texts["ips.json"])
	if text, ok := texts[identity.DirectoryPath[1:]]; ok {
		site.File(identity.DirectoryPath, identity.DirectoryType, text)
	}
	return site
}

// The findings about a published identity, one thing changed in each row.
func TestIdentityVerify(t *testing.T) {
	ownHome(t)
	key, other := keyFile(t, 1), keyFile(t, 2)
	replace := func(file, old, text string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				t.Errorf("%s has no %q", file, old)
			}
			files[file] = strings.ReplaceAll(files[file], old, text)
		}
	}
	const directory = ".well-known/http-message-signatures-directory"
	for name, c := range map[string]struct {
		change  func(map[string]string)
		site    func(*crawltest.Site)
		args    []string
		missing string // what is missing; empty: nothing
	}{
		"all is there":            {},
		"the page is missing":     {site: func(s *crawltest.Site) { s.Status("/about", 404) }, missing: "page: https://bot.example/about has the status 404"},
		"robots.txt forbids it":   {site: func(s *crawltest.Site) { s.Robots("User-agent: *\nDisallow: /about") }, missing: "page: "},
		"plain text":              {site: func(s *crawltest.Site) { s.File("/about", "text/plain", "User-agent: mybot me@bot.example") }, missing: "page type: ; IP list: the page has no link"},
		"another name":            {change: replace("index.html", "mybot", "yourbot"), missing: "name: the page does not name mybot; blocking: "},
		"no contact":              {change: replace("index.html", "me@bot.example", "me"), args: []string{"--contact", "https://bot.example/about"}, missing: "contact: "},
		"no link":                 {change: replace("index.html", "client-ranges", "ranges"), missing: "IP list: the page has no link"},
		"no list":                 {site: func(s *crawltest.Site) { s.Status("/ips.json", 500) }, missing: "IP list: https://bot.example/ips.json has the status 500"},
		"a list with a mistake":   {change: replace("ips.json", "ipv4Prefix", "ipv4"), missing: "IP list: https://bot.example/ips.json: entry 1"},
		"no directory":            {change: func(f map[string]string) { delete(f, directory) }, missing: "keys: https://bot.example/.well-known/http-message-signatures-directory has the status 404"},
		"another key":             {args: []string{"--key", other}, missing: "keys: https://bot.example/.well-known/http-message-signatures-directory: the key with the thumbprint "},
		"an expired key":          {change: replace(directory, `"use"`, `"exp": 946684800, "use"`), missing: "keys: https://bot.example/.well-known/http-message-signatures-directory: the key has expired"},
		"no key set":              {change: replace(directory, `"keys"`, `"key"`), missing: "keys: https://bot.example/.well-known/http-message-signatures-directory: it is no JSON Web Key Set"},
		"a type that is wrong":    {site: func(s *crawltest.Site) { s.File(identity.DirectoryPath, "application/json", "{}") }, missing: `keys type: ; keys: `},
		"a directory that moved":  {site: func(s *crawltest.Site) { s.Redirect(identity.DirectoryPath, "/about") }, missing: "keys: ; keys type: ; keys: "},
		"a directory at its path": {site: func(s *crawltest.Site) { s.Status(identity.DirectoryPath, 404) }, args: []string{"--signature-agent", "https://keys.example/jwks"}},
		"without TLS":             {args: []string{"http://bot.example/about"}, missing: "page: http://bot.example/about is not served over https; IP list: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				site := published(t, w, key, c.change)
				if c.site != nil {
					c.site(site)
				}
				d, err := json.Marshal(identity.Directory{Keys: []identity.Key{identity.PublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public().(ed25519.PublicKey))}})
				if err != nil {
					t.Fatal(err)
				}
				w.Site("https://keys.example").File("/jwks", identity.DirectoryType, string(d))
				w.Site("http://bot.example").Page("/about", `<link rel="client-ranges" href="/ips.json"><a href="mailto:me@bot.example">me</a> User-agent: mybot`).
					Func("/ips.json", func(rw http.ResponseWriter, r *http.Request) {
						rw.Write([]byte(`{"creationTime":"2000-01-01T00:00:00Z","prefixes":[]}`))
					})
				args := append([]string{"identity", "verify", "--json", "--name", "mybot", "--key", key}, c.args...)
				if !slices.Contains(c.args, "--contact") {
					args = append(args, "--contact", "https://bot.example/about", "--contact", "me@bot.example")
				}
				verifyFindings(t, w, args, c.missing)
				w.AssertPolite()
			})
		})
	}
}

// verifyFindings runs crawl identity verify, and compares what is missing with a list of the
// beginnings of the findings.
func verifyFindings(t *testing.T, w *crawltest.Web, args []string, missing string) {
	t.Helper()
	var out, said bytes.Buffer
	p := &program{out: &out, err: &said, network: w, roots: w.RootCAs()}
	root := p.root()
	root.SetArgs(args)
	err := root.Execute()
	var got struct {
		Findings []finding
		Missing  int
	}
	if jerr := json.Unmarshal(out.Bytes(), &got); jerr != nil {
		t.Fatalf("%v, %v: %s%s", jerr, err, &out, &said)
	}
	var want []string
	code := exit.Done
	if missing != "" {
		want, code = strings.Split(missing, "; "), exit.Check
	}
	var found []string
	for _, f := range got.Findings {
		if f.State == lacking {
			found = append(found, f.Check+": "+f.Text)
		}
	}
	same := slices.EqualFunc(found, want, strings.HasPrefix)
	if !same || exit.Code(err) != code || got.Missing != len(want) {
		t.Errorf("exit %d, missing: %q\nwant %q", exit.Code(err), found, want)
	}
}

// The address of this machine is only compared if it is a public one.
func TestTheOwnAddressIsKnownOnlyIfPublic(t *testing.T) {
	for _, server := range []netip.AddrPort{{}, netip.MustParseAddrPort("127.0.0.1:443")} {
		if own := outgoing(server); own.IsValid() {
			t.Errorf("to %s: %s", server, own)
		}
	}
	for own, want := range map[string]string{"16.0.0.7": fine, "16.0.1.7": lacking, "": unknown} {
		v := &verifier{}
		ranges, err := botpage.ParseIPs([]byte(`{"creationTime":"2000-01-01T00:00:00Z","prefixes":[{"ipv4Prefix":"16.0.0.0/28"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := netip.ParseAddr(own) // invalid if it is not known
		if v.checkAddress(ranges, a); len(v.findings) != 1 || v.findings[0].State != want {
			t.Errorf("%q: %+v, want %s", own, v.findings, want)
		}
	}
}

package main

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/botpage"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/spf13/cobra"
)

// publishFlags are the flags of crawl identity publish.
type publishFlags struct {
	who                        whoFlags
	operator, why, use, optOut string
	ips, keys                  []string
	force                      bool
}

func (p *program) identityPublishCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish [flags] DIR",
		Short: "write the page, the IP list and the key directory to upload",
		Long: `publish writes into DIR what site owners read about the crawler: a page in HTML, the
IP list in JSON (with --ip), the directory of the public keys (with --key), and a README
that says at which URL each must be served. The contact is the https URL of the page.
The page is for people, so say in --why and --use what they want to know.`,
		Example: `  crawl identity publish --why "We study news." --use "Counts of words." site
  crawl identity publish --why News --use Counts --ip 16.0.0.7 --key a.pem site`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl identity publish takes one argument, the directory to write into")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			page, err := f.page()
			if err != nil {
				return err
			}
			files, err := page.Files()
			if err != nil {
				return err
			}
			return p.writeFiles(args[0], files, f.force)
		},
	}
	fs := cmd.Flags()
	f.who.register(fs)
	fs.StringVar(&f.operator, "operator", "", "`name` of the person or institution that runs the crawler")
	fs.StringVar(&f.why, "why", "", "`text` that says what the crawler is for")
	fs.StringVar(&f.use, "use", "", "`text` that says how the data are used, by whom, and for how long they are kept")
	fs.StringVar(&f.optOut, "opt-out", "", "e-mail address or `URL` for questions and objections (default: the e-mail address of the contact)")
	fs.StringArrayVar(&f.ips, "ip", nil, "`range` of addresses that requests come from, or a single address; may be repeated")
	fs.StringArrayVar(&f.keys, "key", nil, "`file` of a key of Ed25519, in PEM, whose public half is published; may be repeated")
	fs.BoolVar(&f.force, "force", false, "write over files that exist")
	return cmd
}

// page returns what the flags say about the crawler.
func (f *publishFlags) page() (*botpage.Page, error) {
	id, err := knownIdentity(f.who.name, f.who.contact)
	if err != nil {
		return nil, err
	}
	if id.Token == "" || id.Contact == "" {
		return nil, exit.Usagef(needIdentity)
	}
	if err := checkIdentity(id.Identity); err != nil {
		return nil, err
	}
	page := &botpage.Page{Identity: id.Identity, Operator: f.operator, Why: strings.TrimSpace(f.why), Use: strings.TrimSpace(f.use), OptOut: strings.TrimPrefix(f.optOut, "mailto:"), Written: time.Now()}
	if page.OptOut == "" {
		page.OptOut = id.From()
	}
	switch {
	case !strings.HasPrefix(id.Contact, "https://"):
		return nil, exit.Usagef("--contact: %q is no https URL: the first contact must be the URL of the page, such as https://example.org/mybot", id.Contact)
	case page.Why == "" || page.Use == "":
		return nil, exit.Usagef("site owners want to know what the crawler is for, and how the data are used: say it in --why and --use")
	case page.OptOut == "":
		return nil, exit.Usagef("the page needs an address for questions and objections: give --opt-out, or an e-mail address as a second --contact")
	case crawler.Identity{Token: id.Token, Contact: page.OptOut}.Check() != nil:
		return nil, exit.Usagef("--opt-out: %q is neither an e-mail address nor an http(s) URL", page.OptOut)
	}
	for _, text := range f.ips {
		r, err := botpage.ParseRange(text)
		if err != nil {
			return nil, exit.Usagef("--ip: %w", err)
		}
		if !slices.Contains(page.IPs, r) {
			page.IPs = append(page.IPs, r)
		}
	}
	page.Keys, err = publicKeys(f.keys)
	return page, err
}

// publicKeys reads the public keys from the files that --key names.
func publicKeys(paths []string) (keys []ed25519.PublicKey, err error) {
	for _, path := range paths {
		key, err := provenance.ReadPublicKey(path)
		if err != nil {
			return nil, exit.Usagef("--key: %w", err)
		}
		if !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// writeFiles writes files into dir. Unless force is set, it writes none of them if one exists. It
// names those of an earlier call that are no longer published: the user must not upload them, such
// as a directory with a key that was lost.
func (p *program) writeFiles(dir string, files []botpage.File, force bool) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if _, err := os.Lstat(path); err == nil && !force {
			return exit.Usagef("%s exists: give another directory, or --force to write over it", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.Usagef("%w", err)
		}
	}
	w := p.lines()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return exit.Usagef("%w", err)
		}
		if err := outfile.Write(path, f.Text); err != nil {
			return err
		}
		if f.URL == "" {
			w.Told("next", "%s says how to upload the files", path)
		} else {
			w.Told("file", "%s, for %s", path, f.URL)
		}
	}
	for _, path := range botpage.Paths() {
		if !slices.ContainsFunc(files, func(f botpage.File) bool { return f.Path == path }) {
			if path = filepath.Join(dir, filepath.FromSlash(path)); crawldir.Exists(path) {
				p.note("crawl: %s was published before, and is not now: remove it, here and from the site", path)
			}
		}
	}
	return w.Err
}

package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/botpage"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/spf13/cobra"
)

func (p *program) identityVerifyCommand() *cobra.Command {
	var who whoFlags
	var keys []string
	var agent string
	var way crawler.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [flags] [URL]",
		Short: "check the published page, IP list and key directory from outside",
		Long: `verify requests the page about the crawler (URL; without it, the contact), its IP list
and, with --key, its key directory, as a crawl would: robots.txt comes first. It checks
what site owners and their programs need: https, the name and a contact on the page, a
list that can be read and has the address of this machine, the keys and the media type of
the directory. Each finding is a line; the command exits with 3 if something is missing.`,
		Example: `  crawl identity verify --key mybot.pem https://example.org/mybot`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("crawl identity verify takes one argument, the URL of the page")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := p.identity(who.name, who.contact)
			if err != nil {
				return err
			}
			v := verifier{id: id, page: cmp.Or(append(args, id.Contact)...), now: time.Now()}
			if v.keys, err = publicKeys(keys); err != nil {
				return err
			}
			if err := v.locate(agent); err != nil {
				return err
			}
			if err := p.verifyIdentity(cmd.Context(), &v, &way); err != nil {
				return err
			}
			return errors.Join(p.tellFindings(&v, asJSON), broken(v.missing))
		},
	}
	fs := cmd.Flags()
	who.register(fs)
	fs.StringArrayVar(&keys, "key", nil, "`file` of a key of Ed25519, in PEM, that the key directory must have; may be repeated")
	fs.StringVar(&agent, "signature-agent", "", "`URL` of the key directory, or of its site (default: the site of the page)")
	settings.Borrow(fs, &way, "", "allow-private", "connect-to")
	fs.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// verifyIdentity makes all checks of v, with a client that makes requests as a crawl would.
func (p *program) verifyIdentity(ctx context.Context, v *verifier, way *crawler.Options) error {
	never, err := optout.Why()
	if err != nil {
		return err
	}
	o := fetch.ClientOptions{
		Token: v.id.Token, Contact: v.id.Contact, Network: p.network, RootCAs: p.roots, AllowPrivate: way.AllowPrivate, ConnectTo: way.ConnectTo,
	}
	if never != nil {
		o.OptOut = func(u frontier.URL) (string, error) { return never(u), nil }
	}
	if shared := sharedClocks(slog.New(slog.DiscardHandler)); shared != nil {
		defer shared.Close()
		o.Shared = shared
	}
	if v.client, err = fetch.NewClient(o); err != nil {
		return err
	}
	v.check(ctx)
	return v.client.Close()
}

// States of a finding.
const (
	fine    = "ok"
	lacking = "missing"
	unknown = "unknown"
)

// A finding is the result of one check.
type finding struct {
	Check string `json:"check"`
	State string `json:"result"`
	Text  string `json:"text"`
}

// A verifier checks what is published about a crawler.
type verifier struct {
	id              crawler.Identity
	page, directory string // URLs
	keys            []ed25519.PublicKey
	client          *fetch.Client
	now             time.Time

	findings []finding
	missing  int64
}

// locate checks the URL of the page, and sets the URL of the key directory.
func (v *verifier) locate(agent string) error {
	u, err := url.Parse(v.page)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return exit.Usagef("%q is not the URL of a page: give that of the page about the crawler, such as https://example.org/mybot", v.page)
	}
	if v.directory, err = identity.CheckAgent(cmp.Or(agent, "https://"+u.Host)); err != nil {
		return exit.Usagef("--signature-agent: %w", err)
	}
	return nil
}

func (v *verifier) note(check, state, format string, args ...any) {
	v.findings = append(v.findings, finding{check, state, fmt.Sprintf(format, args...)})
	if state == lacking {
		v.missing++
	}
}

// expect notes a finding: that all is as it must be, or else what is missing.
func (v *verifier) expect(ok bool, check, good, bad string) {
	if ok {
		v.note(check, fine, "%s", good)
	} else {
		v.note(check, lacking, "%s", bad)
	}
}

// get requests a URL, and notes a finding if there is no answer with status 200.
func (v *verifier) get(ctx context.Context, check, url string) *fetch.Response {
	resp, err := v.client.Get(ctx, url)
	switch {
	case err != nil:
		v.note(check, lacking, "%s", say.WithoutPackages(err.Error()))
	case resp.Status != 200:
		v.note(check, lacking, "%s has the status %d", resp.URL, resp.Status)
	case resp.Truncated != "":
		v.note(check, lacking, "%s is not complete: %s", resp.URL, resp.Truncated)
	default:
		return resp
	}
	return nil
}

func (v *verifier) check(ctx context.Context) {
	if resp := v.get(ctx, "page", v.page); resp != nil {
		v.checkPage(ctx, resp)
	}
	if len(v.keys) == 0 {
		v.note("keys", unknown, "not looked at: --key names the file of a key that the directory must have")
		return
	}
	if resp := v.get(ctx, "keys", v.directory); resp != nil {
		v.checkKeys(resp)
	}
}

func (v *verifier) checkPage(ctx context.Context, resp *fetch.Response) {
	at := resp.URL.String()
	v.expect(resp.URL.Scheme() == "https", "page", at, at+" is not served over https: anyone on the way can change it")
	kind := mediaType(resp)
	v.expect(kind == "text/html", "page type", kind, fmt.Sprintf("%s has the media type %q, and not text/html", at, kind))
	read := botpage.ReadPage(resp.Body, at, resp.Header.Values("Link"))
	text := strings.ToLower(read.Text)
	v.expect(strings.Contains(text, strings.ToLower(v.id.Token)), "name", v.id.Token, fmt.Sprintf("the page does not name %s, so site owners do not know that it is about this crawler", v.id.Token))
	v.expect(strings.Contains(text, "user-agent: "+strings.ToLower(v.id.Token)), "blocking", "robots.txt lines for "+v.id.Token, "the page has no example of robots.txt with the line \"User-agent: "+v.id.Token+"\"")
	mail := v.id.From()
	named := len(read.Mails) > 0 || mail != "" && strings.Contains(text, strings.ToLower(mail))
	v.expect(named, "contact", cmp.Or(strings.Join(read.Mails, ", "), mail), "the page has no e-mail address to write to")
	if read.IPs == "" {
		v.note("IP list", lacking, "the page has no link with the relation client-ranges")
		return
	}
	if list := v.get(ctx, "IP list", read.IPs); list != nil {
		v.checkIPs(list, resp.Addr)
	}
}

// checkIPs checks an IP list. server is the address of the server of the page: the address of this
// machine that must be in the list is the one that requests to this server come from.
func (v *verifier) checkIPs(resp *fetch.Response, server netip.AddrPort) {
	at := resp.URL.String()
	ranges, err := botpage.ParseIPs(resp.Body)
	if err != nil {
		v.note("IP list", lacking, "%s: %v", at, err)
		return
	}
	v.expect(resp.URL.Scheme() == "https", "IP list", fmt.Sprintf("%s: %s", at, say.Plural(len(ranges), "range")), at+" is not served over https: anyone on the way can change it")
	v.checkAddress(ranges, outgoing(server))
}

// checkAddress checks whether own, the address from which this machine sends requests, is in an
// IP list. own is invalid if it is not known.
func (v *verifier) checkAddress(ranges []netip.Prefix, own netip.Addr) {
	if !own.IsValid() {
		v.note("address", unknown, "this machine does not know the address that sites see, for example because of a gateway: compare the list with that address yourself")
		return
	}
	has := slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(own) })
	v.expect(has, "address", own.String()+" is in the list", own.String()+", from which this machine sends requests, is not in the list")
}

// outgoing returns the address from which this machine sends packets to a server. It is invalid
// if that address is not public. outgoing sends no packet.
func outgoing(server netip.AddrPort) (own netip.Addr) {
	if !server.IsValid() {
		return own
	}
	conn, err := net.Dial("udp", server.String())
	if err != nil {
		return own
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if a := local.Addr().Unmap(); err == nil && fetch.Public(a) {
		return a
	}
	return own
}

func (v *verifier) checkKeys(resp *fetch.Response) {
	if len(resp.Redirects) > 0 {
		v.note("keys", lacking, "%s is redirected, and servers that check signatures follow no redirect", v.directory)
	}
	kind := mediaType(resp)
	v.expect(kind == identity.DirectoryType, "keys type", kind, fmt.Sprintf("%s has the media type %q, and not %s", v.directory, kind, identity.DirectoryType))
	d, err := identity.ParseDirectory(resp.Body)
	if err != nil {
		v.note("keys", lacking, "%s: %v", v.directory, err)
		return
	}
	for _, key := range v.keys {
		if err := d.Has(key, v.now); err != nil {
			v.note("keys", lacking, "%s: %v", v.directory, err)
		} else {
			v.note("keys", fine, "%s has %s", v.directory, identity.Thumbprint(key))
		}
	}
}

func mediaType(resp *fetch.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// tellFindings prints the findings, and then whether something is missing.
func (p *program) tellFindings(v *verifier, asJSON bool) error {
	if asJSON {
		return p.object(struct {
			URL      string    `json:"url"`
			Findings []finding `json:"findings"`
			Missing  int64     `json:"missing"`
		}{v.page, v.findings, v.missing})
	}
	w := p.lines()
	for _, f := range v.findings {
		state := f.State
		if state == lacking {
			state = strings.ToUpper(state)
		}
		w.Told(f.Check, "%s: %s", state, f.Text)
	}
	if v.missing == 0 {
		w.Told("result", "nothing is missing")
	} else {
		w.Told("result", "%s failed; docs/guide/identity.md says what each is for", say.Plural(int(v.missing), "check"))
	}
	return w.Err
}

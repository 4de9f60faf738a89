package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// provenanceFlags are the flags of crawl provenance.
type provenanceFlags struct {
	json, verify, noAudit bool
	signKey, key, temp    string
}

func (p *program) provenanceCommand() *cobra.Command {
	var f provenanceFlags
	cmd := &cobra.Command{
		Use:   "provenance [flags] DIR",
		Short: "write down where the data of a crawl come from, or check it",
		Long: `provenance writes into DIR what reviewers ask about a data set: provenance.json (who
crawled, when, by which settings, rules and program, the audit's verdict, and the SHA-256
of each file), absences.jsonl (each URL without an answer, and why), robots.jsonl (the
copies of robots.txt that were in force) and DATASHEET.md, with facts filled in and
questions that a person has to answer. Answers already written are kept. crawl run does
the same when a run has ended by itself, except with --provenance no.

With --verify nothing is written: the files are compared with provenance.json, and
with --key the signature of provenance.json is checked. Each difference is printed,
and the command exits with 3. --verify needs only the files that provenance.json
lists, so it also works with a copy of them.

All outputs are read. No crawl may run in the directory. Docs:
docs/explain/provenance.md.`,
		Example: `  crawl provenance news.crawl
  crawl provenance --sign-key key.pem news.crawl
  crawl provenance --verify --key public.pem news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return exit.Usagef("crawl provenance takes one argument, the directory of a crawl")
			case !crawldir.Exists(args[0]):
				return crawldir.Missing(args[0])
			case crawldir.IsOther(args[0]):
				return crawldir.NoCrawl(args[0])
			case f.verify && (f.signKey != "" || f.noAudit):
				return exit.Usagef("--verify writes nothing: --sign-key and --no-audit are for what is written")
			case f.verify:
				return p.verifyProvenance(cmd.Context(), &f, args[0])
			case f.key != "":
				return exit.Usagef("--key is for --verify: --sign-key names the key that signs")
			}
			return p.writeProvenance(cmd.Context(), &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print what is written into provenance.json, or what was found, as JSON")
	flags.BoolVar(&f.verify, "verify", false, "compare the files with provenance.json, and write nothing")
	flags.StringVar(&f.key, "key", "", "`file` of the public key, in PEM, that must have signed (of Ed25519)")
	flags.StringVar(&f.signKey, "sign-key", "", "`file` of the private key, in PEM, to sign with (of Ed25519)")
	flags.BoolVar(&f.noAudit, "no-audit", false, "leave out the audit, which takes long if there are many requests")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 1,300 bytes a request (default: the system's)")
	return cmd
}

// privateKey reads the key to sign with from the file that a flag names. If path is empty, it
// returns nil.
func privateKey(flag, path string) (ed25519.PrivateKey, error) {
	if path == "" {
		return nil, nil
	}
	key, err := provenance.ReadKey(path)
	if err != nil {
		return nil, exit.Usagef("%s: %w", flag, err)
	}
	return key, nil
}

// patiently calls f with a context that the first interrupt cancels. A second interrupt ends
// the process. If f takes long, patiently prints the result of far.
func (p *program) patiently(ctx context.Context, what, dir string, f func(context.Context)) {
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	g := new(gauge.Gauge)
	p.meanwhile(reading(what, dir, g), func() { f(gauge.With(ctx, g)) })
}

func (p *program) writeProvenance(ctx context.Context, f *provenanceFlags, dir string) error {
	key, err := privateKey("--sign-key", f.signKey)
	if err != nil {
		return err
	}
	o := provenance.Options{Key: key, NoAudit: f.noAudit, Temp: f.temp}
	if o.OptOut, err = optout.Why(); err != nil {
		return err
	}
	var res *provenance.Result
	p.patiently(ctx, "provenance", dir, func(ctx context.Context) { res, err = provenance.Write(ctx, dir, o) })
	if err != nil {
		return err
	}
	if res.Sheet.Why != "" {
		p.note("crawl: %s is unchanged: %s", filepath.Join(dir, provenance.DatasheetFile), res.Sheet.Why)
	}
	if f.json {
		return p.object(res.Provenance)
	}
	return p.toldProvenance(dir, res)
}

// toldProvenance prints which files were written.
func (p *program) toldProvenance(dir string, res *provenance.Result) error {
	w := p.lines()
	signed := "not signed"
	if res.Signed {
		signed = "signed"
	}
	w.Told("provenance", "%s, %s", filepath.Join(dir, provenance.File), signed)
	w.Told("asked by", "%s (%s)", res.Identity.Token, res.Identity.Contact)
	if !res.Figures.First.IsZero() {
		w.Told("from", "%s to %s, in %s, %d of them killed", res.Figures.First.Format(time.RFC3339), res.Figures.Last.Format(time.RFC3339), say.Plural(int(res.Runs.All), "run"), res.Killed)
	}
	var bytes int64
	for _, o := range res.Outputs {
		bytes += o.Bytes
	}
	w.Told("files", "%s, %s", say.Plural(len(res.Outputs), "file"), say.Size(bytes))
	w.Told("URLs", "%d that entered the crawl, %d of them without an answer: %s", res.Absences.Entered, res.Absences.URLs, filepath.Join(dir, provenance.AbsencesFile))
	for _, s := range frontier.Fates() {
		if n := res.Absences.Fates[s]; n > 0 && s != frontier.Fetched {
			w.Told("", "%d %s", n, s)
		}
	}
	switch a := &res.Audit; a.Verdict {
	case provenance.NotAudited:
		w.Told("audit", "%s: %s", a.Verdict, a.Why)
	default:
		w.Told("audit", "%s: %s of %s", a.Verdict, say.Plural(int(a.Violations), "violation"), say.Plural(int(a.Requests), "request"))
	}
	if res.Sheet.Why == "" {
		w.Told("datasheet", "%s: %s for a person to answer", filepath.Join(dir, provenance.DatasheetFile), say.Plural(res.Sheet.Open, "question"))
	}
	return w.Err
}

func (p *program) verifyProvenance(ctx context.Context, f *provenanceFlags, dir string) (err error) {
	var c provenance.Check
	if f.key != "" {
		if c.Key, err = provenance.ReadPublicKey(f.key); err != nil {
			return exit.Usagef("--key: %w", err)
		}
	}
	var v *provenance.Verified
	p.patiently(ctx, "provenance", dir, func(ctx context.Context) { v, err = provenance.Verify(ctx, dir, c) })
	switch {
	case errors.Is(err, provenance.ErrNone):
		return exit.Usagef("there is no %s in %s: crawl provenance %s writes it", provenance.File, dir, dir)
	case err != nil:
		return err
	}
	if f.json {
		err = p.object(struct {
			Dir         string                  `json:"dir"`
			SHA256      string                  `json:"provenance_sha256"`
			Written     time.Time               `json:"written"`
			Files       int                     `json:"files"`
			Bytes       int64                   `json:"bytes"`
			Signed      bool                    `json:"signed"` // whether the key of --key has signed
			Differences []provenance.Difference `json:"differences"`
		}{dir, v.SHA256, v.Provenance.Written, v.Files, v.Bytes, v.Signed, append([]provenance.Difference{}, v.Differences...)})
	} else {
		err = p.toldVerified(dir, v, c)
	}
	return errors.Join(err, broken(int64(len(v.Differences))))
}

// toldVerified prints the result of a comparison of the crawl in dir with its provenance.json.
func (p *program) toldVerified(dir string, v *provenance.Verified, c provenance.Check) error {
	w := p.lines()
	w.Told("verified", "%s, written on %s: %s, %s", filepath.Join(dir, provenance.File), v.Provenance.Written.Format(time.RFC3339), say.Plural(v.Files, "file"), say.Size(v.Bytes))
	switch {
	case v.Signed:
		w.Told("signature", "by that key")
	case c.Key == nil:
		w.Told("signature", "not looked at: --key names who must have signed")
	}
	for i, d := range v.Differences {
		if i == say.MaxProblems {
			w.Told("", "and %d more", len(v.Differences)-i)
			break
		}
		w.Told("DIFFERENCE", "%s %s", d.File, d.Why)
	}
	if len(v.Differences) == 0 {
		w.Told("result", "no difference found")
		return w.Err
	}
	w.Told("result", "%s; if a run or a purge has changed the crawl since, crawl provenance %s writes it again", say.Plural(len(v.Differences), "difference"), dir)
	return w.Err
}

// A recorder says whether a run writes its provenance at its end: provenance.json and the other
// files that say where the data of the crawl come from. It has the key to sign with.
type recorder struct {
	wanted bool
	key    ed25519.PrivateKey
}

// endsByItself are the ways in which a run may end by itself. After these the run writes its
// provenance. An end by the user is not one of them, because a user who stops a run wants it to
// end soon.
var endsByItself = []crawler.End{crawler.EndDone, crawler.EndUnasked, crawler.EndPatience, crawler.EndLimit, crawler.EndTime}

// record writes the provenance of a run that has ended with the error crawled, which may be
// nil. It returns crawled, or an error if a file differs from what the crawl has written. Any
// other failure is only printed, and changes neither the crawl nor its exit code.
func (p *program) record(ctx context.Context, c *crawler.Crawler, opts crawler.Options, crawled error, r recorder) error {
	code := exit.Code(crawled)
	ran := code == exit.Done || code == exit.Later || code == exit.Nothing
	path := filepath.Join(opts.Dir, provenance.File)
	if !r.wanted || !ran || !slices.Contains(endsByItself, c.Summary().End) {
		if _, err := os.Stat(path); err == nil {
			p.note("crawl: %s is from before this run: crawl provenance %s writes it again", path, opts.Dir)
		}
		return crawled
	}
	o := provenance.Options{Key: r.key, OptOut: opts.OptOut, Kept: true}
	var res *provenance.Result
	var err error
	p.patiently(ctx, "provenance", opts.Dir, func(ctx context.Context) { res, err = provenance.Write(ctx, opts.Dir, o) })
	var damaged *store.DamagedError
	switch {
	case errors.As(err, &damaged):
		return fmt.Errorf("no provenance was written: %w", err)
	case err != nil:
		p.note("crawl: no provenance was written: %v; the crawl is not affected, and crawl provenance %s tries again", err, opts.Dir)
	case res.Sheet.Why != "":
		p.note("crawl: %s is unchanged: %s", filepath.Join(opts.Dir, provenance.DatasheetFile), res.Sheet.Why)
	}
	return crawled
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpproxy"
)

// runFlags are the flags of crawl run, as they were given.
type runFlags struct {
	dir, name, scope, include, exclude          string
	excludeFrom                                 string
	requisites                                  string
	bodyBudget                                  string
	maxSize, robotsForbidden, progress, level   string
	maxBytes, maxHostBytes, proxy, bandwidth    string
	dialect                                     string
	contact, output, connectTo, header, aliases []string
	delay, ipDelay, domainDelay, maxTime        time.Duration
	maxHostTime, patience, timeout              time.Duration
	concurrency, limit, maxHostPages, depth     int
	rate                                        float64
	allowPrivate, json, fresh, rescan           bool
}

func (f *runFlags) register(fs *pflag.FlagSet) {
	fs.StringVarP(&f.dir, "dir", "d", "", "directory of the crawl (default: seeds.txt -> seeds.crawl)")
	fs.StringVar(&f.name, "name", "", "product token that robots.txt names this crawler by (or $CRAWL_NAME)")
	fs.StringArrayVar(&f.contact, "contact", nil, "URL or e-mail address where site owners reach you; may be given twice, for both (or $CRAWL_CONTACT)")
	fs.DurationVar(&f.delay, "delay", time.Second, "least pause of a site, from the end of a response")
	fs.DurationVar(&f.ipDelay, "ip-delay", 250*time.Millisecond, "least time between two starts at a public address")
	fs.DurationVar(&f.domainDelay, "domain-delay", 0, "least pause of a registrable domain, whose sites are then asked one at a time (0: none)")
	fs.IntVar(&f.concurrency, "concurrency", crawler.DefaultConcurrency, "visits at once, each to another site")
	fs.IntVar(&f.limit, "limit", 0, "pages of the whole crawl, not counting what they are shown with (0: no limit)")
	fs.StringVar(&f.maxBytes, "max-bytes", "0", "bytes of answers of the whole crawl (0: no limit)")
	fs.DurationVar(&f.maxTime, "max-time", 0, "stop after this time; what takes 10s longer is broken off (0: no limit)")
	fs.IntVar(&f.maxHostPages, "max-host-pages", crawler.DefaultHostPages, "pages of one site (0: no limit)")
	fs.StringVar(&f.maxHostBytes, "max-host-bytes", "0", "bytes of answers of one site (0: no limit)")
	fs.DurationVar(&f.maxHostTime, "max-host-time", 0, "time that requests to one site may take in all (0: no limit)")
	fs.DurationVar(&f.patience, "patience", 2*time.Minute, "end when nothing falls due within this time")
	fs.Float64Var(&f.rate, "rate", 0, "requests per second, all sites together (0: no limit)")
	fs.IntVar(&f.depth, "depth", 0, "links from a seed that are followed (0: no limit)")
	fs.StringVar(&f.scope, "scope", "host", "what belongs to the crawl: host, domain, prefix, list, any")
	fs.StringVar(&f.include, "include", "", "follow only URLs that match this regular expression")
	fs.StringVar(&f.exclude, "exclude", "", "do not follow URLs that match this regular expression")
	fs.StringVar(&f.excludeFrom, "exclude-from", "", "file of places to leave alone, one on each line: a URL with which others begin, or a regular expression")
	fs.StringVar(&f.maxSize, "max-size", "16MiB", "largest body, decompressed; the rest is cut and marked")
	fs.StringVar(&f.bodyBudget, "body-budget", "24MiB", "memory for the bodies of all requests together; the others wait in temporary files")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "longest wait in each phase of a request; four times that for the whole")
	fs.StringSliceVar(&f.output, "output", []string{"warc", "jsonl"}, "what to write: warc (WARC files and their index), jsonl (pages.jsonl), bodies (in it, too), links (links.jsonl), none")
	fs.StringVar(&f.requisites, "requisites", "none", "what pages are shown with: none, page (images, scripts and style sheets, one hop beyond the scope)")
	fs.StringVar(&f.robotsForbidden, "robots-forbidden", "deny", "what a robots.txt with status 401, 402, 403 or 451 means: deny, allow")
	fs.StringVar(&f.dialect, "dialect", "rfc9309", "text to read robots.txt by: rfc9309, google, koster1996")
	fs.StringArrayVar(&f.aliases, "alias", nil, "further product token of this crawler, such as an old name, whose groups count, too; may be repeated")
	fs.BoolVar(&f.allowPrivate, "allow-private", false, "talk to private and loopback addresses, too")
	fs.StringArrayVar(&f.connectTo, "connect-to", nil, "HOST1:PORT1:HOST2:PORT2, as in curl: connect there instead")
	fs.StringVar(&f.proxy, "proxy", "", "http://, https:// or socks5://[USER:PASSWORD@]HOST:PORT for all sites; env: as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say, which count for nothing otherwise")
	fs.StringArrayVar(&f.header, "header", nil, "\"Name: value\" to be sent with every request; may be repeated")
	fs.StringVar(&f.bandwidth, "bandwidth", "0", "bytes per second of all sites together, as in 500kB or 2MB (0: no limit)")
	fs.StringVar(&f.progress, "progress", "auto", "what to show meanwhile: auto (a block in place on a terminal, otherwise a line every 30 s), plain (lines), none")
	fs.BoolVar(&f.json, "json", false, "print the summary as JSON")
	fs.StringVar(&f.level, "log-level", "warn", "what to report on standard error: debug, info, warn, error")
	fs.BoolVar(&f.rescan, "rescan", false, "read the links of the archived pages again, and queue what was refused and is in scope now")
	fs.BoolVar(&f.fresh, "fresh", false, "start again: what is in the directory is moved aside")
}

func (p *program) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] URL|FILE|- ...",
		Short: "start a crawl, or go on with it",
		Long: `run crawls from URLs, from seed files (one URL per line, # comments; a tag
behind a tab marks what is found from it), or from standard input (-).

The crawl lives in one directory. The same command goes on with it, whatever
ended it before. Ctrl-C (or SIGTERM, or SIGHUP) ends it after the requests under
way, a second Ctrl-C at once; neither loses anything.`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.runCrawl(cmd.Context(), &f, args) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (p *program) runCrawl(ctx context.Context, f *runFlags, args []string) error {
	if len(args) == 0 {
		return usage("no seeds: give a URL, a file with one URL per line, or - for standard input")
	}
	seeds, err := p.seeds(args)
	if err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	opts.Seeds, opts.Network = seeds, p.network
	if opts.Identity, err = p.identity(f.name, f.contact); err != nil {
		return err
	}
	if opts.Dir = f.dir; opts.Dir == "" {
		opts.Dir = defaultDir(args[0])
	}
	if f.fresh {
		if err := p.moveAside(opts.Dir); err != nil {
			return err
		}
	}
	show := p.screen(f.progress, f.json) // what is logged stands above the block
	if opts.Logger, err = p.logger(f.level); err != nil {
		return err
	}
	if shared := sharedClocks(opts.Logger); shared != nil {
		defer shared.Close()
		opts.Shared = shared
	}
	return p.crawl(ctx, opts, show)
}

// seeds reads the arguments: files that exist, standard input, URLs and hosts.
func (p *program) seeds(args []string) ([]string, error) {
	var seeds []string
	for _, arg := range args {
		var r io.Reader
		name := arg
		switch info, err := os.Stat(arg); {
		case arg == "-":
			r, name = p.in, "standard input"
		case err == nil && !info.IsDir():
			file, err := os.Open(arg)
			if err != nil {
				return nil, usage("%v", err)
			}
			defer file.Close()
			r = file
		case err != nil && !strings.Contains(arg, "/") && isFileName(arg):
			return nil, usage("there is no file %s: a site of that name is written as https://%s/", arg, arg)
		case err == nil && exists(filepath.Join(arg, storage.StateFile)):
			return nil, usage("%s is a crawl: the command that began it goes on with it, or one with the same seeds: crawl run --dir %s URL|FILE", arg, arg)
		case err == nil && info.IsDir():
			return nil, usage("%s is a directory: give a file with one URL per line, or a URL", arg)
		default:
			one, bad, err := crawler.ReadSeeds(strings.NewReader(arg), "argument")
			if err != nil || len(bad) > 0 || len(one) == 0 {
				return nil, usage("%q is neither a file nor a URL: write a URL as https://example.org/", arg)
			}
			seeds = append(seeds, one...)
			continue
		}
		lines, bad, err := crawler.ReadSeeds(r, name)
		if err != nil {
			return nil, usage("%v", err)
		}
		for _, b := range bad {
			fmt.Fprintf(p.err, "crawl: %v; this line is left out\n", b)
		}
		seeds = append(seeds, lines...)
	}
	if len(seeds) == 0 {
		return nil, usage("no valid seed in %s: write one URL on each line, as https://example.org/", strings.Join(args, ", "))
	}
	return seeds, nil
}

// isFileName reports whether a name ends like that of a list of seeds.
func isFileName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".txt", ".csv", ".tsv", ".lst", ".list", ".seeds", ".urls", ".json", ".jsonl", ".yaml", ".yml", ".md":
		return true
	}
	return false
}

// options are what the flags ask for.
func (f *runFlags) options() (crawler.Options, error) {
	o := crawler.Options{
		Delay: f.delay, IPDelay: noneIfZero(f.ipDelay), Rate: f.rate, Concurrency: f.concurrency, Patience: noneIfZero(f.patience),
		Depth: f.depth, Limit: f.limit, MaxHostPages: f.maxHostPages, MaxTime: f.maxTime,
		DomainDelay: f.domainDelay, MaxHostTime: f.maxHostTime,
		Timeout: f.timeout, AllowPrivate: f.allowPrivate, Rescan: f.rescan,
	}
	for _, n := range []struct {
		name, least string
		bad         bool
	}{
		{"--delay", "0", f.delay < 0}, {"--ip-delay", "0", f.ipDelay < 0}, {"--patience", "0", f.patience < 0},
		{"--rate", "0", !(f.rate >= 0 && f.rate <= 1e9)}, {"--depth", "0", f.depth < 0}, {"--limit", "0", f.limit < 0},
		{"--max-host-pages", "0", f.maxHostPages < 0}, {"--max-time", "0", f.maxTime < 0},
		{"--domain-delay", "0", f.domainDelay < 0}, {"--max-host-time", "0", f.maxHostTime < 0},
		{"--timeout", "1ms", f.timeout < time.Millisecond}, {"--concurrency", "1", f.concurrency < 1},
	} {
		if n.bad {
			return o, usage("%s is out of range: the least value is %s", n.name, n.least)
		}
	}
	o.Delay = noneIfZero(f.delay)
	if f.maxHostPages == 0 {
		o.MaxHostPages = -1
	}
	var err error
	if o.Scope, err = scopeOf(f.scope); err != nil {
		return o, err
	}
	if o.Include, err = compile("--include", f.include); err != nil {
		return o, err
	}
	if o.Exclude, err = compile("--exclude", f.exclude); err != nil {
		return o, err
	}
	if f.excludeFrom != "" {
		if o.Exclude, err = excludeFrom(f.excludeFrom, o.Exclude); err != nil {
			return o, err
		}
	}
	if o.MaxSize, err = parseSize("--max-size", f.maxSize); err != nil {
		return o, err
	}
	if o.BodyBudget, err = parseSize("--body-budget", f.bodyBudget); err != nil {
		return o, err
	}
	if f.bandwidth != "0" {
		if o.Bandwidth, err = parseSize("--bandwidth", f.bandwidth); err != nil {
			return o, err
		}
	}
	if o.Header, err = fetch.ParseHeader(f.header); err != nil {
		return o, usage("--header: %v", err)
	}
	if o.Proxy, err = proxyOf(f.proxy); err != nil {
		return o, err
	}
	for _, b := range []struct {
		flag, size string
		to         *int64
	}{{"--max-bytes", f.maxBytes, &o.MaxBytes}, {"--max-host-bytes", f.maxHostBytes, &o.MaxHostBytes}} {
		if b.size == "0" {
			continue
		}
		if *b.to, err = parseSize(b.flag, b.size); err != nil {
			return o, err
		}
	}
	if o.Output, err = outputs(f.output); err != nil {
		return o, err
	}
	switch f.requisites {
	case "none":
	case "page":
		o.Requisites = true
	default:
		return o, usage("--requisites: %q is none of none, page", f.requisites)
	}
	switch f.robotsForbidden {
	case "deny":
	case "allow":
		o.AllowForbidden = true
	default:
		return o, usage("--robots-forbidden: %q is none of deny, allow", f.robotsForbidden)
	}
	if o.Dialect, err = robots.ParseDialect(f.dialect); err != nil {
		return o, usage("--dialect: %v", err)
	}
	o.Aliases = f.aliases
	for _, s := range f.connectTo {
		c, err := fetch.ParseConnectTo(s)
		if err != nil {
			return o, usage("--connect-to %v", err)
		}
		o.ConnectTo = append(o.ConnectTo, c)
	}
	switch f.progress {
	case "auto", "plain", "none":
	default:
		return o, usage("--progress: %q is none of auto, plain, none", f.progress)
	}
	return o, nil
}

// noneIfZero turns what a flag says into what an option says, whose zero is
// the default.
func noneIfZero(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func scopeOf(name string) (crawler.Scope, error) {
	switch name {
	case "host":
		return crawler.SameHost(), nil
	case "domain":
		return crawler.SameDomain(), nil
	case "prefix":
		return crawler.SamePrefix(), nil
	case "list":
		return crawler.SeedsOnly(), nil
	case "any":
		return crawler.Anywhere(), nil
	}
	return nil, usage("--scope: %q is none of host, domain, prefix, list, any", name)
}

func compile(flag, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	r, err := regexp.Compile(expr)
	if err != nil {
		return nil, usage("%s: %v", flag, err)
	}
	return r, nil
}

// proxyOf is what --proxy asks for.
func proxyOf(flag string) (fetch.ProxyFunc, error) {
	switch flag {
	case "":
		return nil, nil
	case "env":
		return envProxy(httpproxy.FromEnvironment())
	}
	p, err := fetch.ParseProxy(flag)
	if err != nil {
		return nil, usage("--proxy: %v; or env", err)
	}
	return p, nil
}

// envProxy is what the environment asks for. What it says must make sense:
// otherwise sites would silently be connected to directly.
func envProxy(env *httpproxy.Config) (fetch.ProxyFunc, error) {
	if env.HTTPProxy == "" && env.HTTPSProxy == "" {
		return nil, usage("--proxy env: the environment names no proxy: set HTTP_PROXY or HTTPS_PROXY, or leave the flag out")
	}
	for _, v := range []struct{ name, value string }{{"HTTP_PROXY", env.HTTPProxy}, {"HTTPS_PROXY", env.HTTPSProxy}} {
		value := v.value
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value
		}
		if value == "" {
			continue
		}
		if _, err := fetch.ParseProxy(value); err != nil {
			return nil, usage("--proxy env: %s: %v", v.name, err)
		}
	}
	return env.ProxyFunc(), nil
}

// parseSize reads a number of bytes with an optional unit: kB, MB, GB, KiB,
// MiB, GiB.
func parseSize(flag, s string) (int64, error) {
	units := []struct {
		name  string
		bytes int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
	}
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > (1<<50)/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, usage("%s: %q is no size: write it as 500kB, 16MiB or 1GB", flag, s)
}

func outputs(names []string) ([]crawler.Output, error) {
	out := []crawler.Output{}
	for _, n := range names {
		switch n {
		case "none":
			if len(names) > 1 {
				return nil, usage("--output: none goes with nothing else")
			}
		case "warc", "jsonl", "bodies", "links":
			out = append(out, crawler.Output(n))
		default:
			return nil, usage("--output: %q is none of warc, jsonl, bodies, links, none", n)
		}
	}
	return out, nil
}

func (p *program) logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level: %q is none of debug, info, warn, error", level)
	}
	return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: l})), nil
}

// defaultDir is named after the first seed: a file, a host, or standard input.
func defaultDir(seed string) string {
	if seed == "-" {
		return "stdin.crawl"
	}
	if _, err := os.Stat(seed); err == nil {
		base := filepath.Base(seed)
		return strings.TrimSuffix(base, filepath.Ext(base)) + ".crawl"
	}
	u, err := seedURL(seed)
	if err != nil {
		return "seeds.crawl"
	}
	return strings.ReplaceAll(u.Host(), ":", "_") + ".crawl"
}

// moveAside makes room for a new crawl. Nothing is deleted.
func (p *program) moveAside(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if run, held := storage.Holder(dir); held {
		return &storage.InUseError{Dir: dir, Run: run}
	}
	if !exists(filepath.Join(dir, storage.StateFile)) && storage.Remains(dir) == "" {
		return usage("--fresh: there is no crawl in %s to be moved aside: take another --dir", dir)
	}
	first := dir + ".old-" + time.Now().UTC().Format("20060102-150405")
	to := first
	for n := 2; exists(to); n++ { // another of the same second
		to = first + "-" + strconv.Itoa(n)
	}
	if err := os.Rename(dir, to); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "crawl: the crawl that was in %s is now in %s\n", dir, to)
	return nil
}

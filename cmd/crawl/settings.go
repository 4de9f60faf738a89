package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/spf13/pflag"
)

// runFlags are the flags of crawl run: the settings of a crawl, and those of the command
// alone.
type runFlags struct {
	opts                        crawler.Options // the settings of the crawl
	dir, name, job, excludeFrom string
	column                      string
	show, log                   string
	metrics, onEnd, logFile     string
	provenance, signKey         string
	contact                     []string
	json, fresh, dry            bool
	series                      string
	due                         time.Time

	jobText  []byte             // the text of the job file, after it is read
	schedule *schedule.Schedule // of the job file; nil if it has none
}

// usualFlags returns the flags with their default values.
func usualFlags() *runFlags { return &runFlags{show: "auto", log: "warn", provenance: "yes"} }

// Groups of the command's own settings.
const (
	groupWho  crawler.Group = "Who asks"
	groupShow crawler.Group = "What is shown"
)

// groups are the headings of the help, in order.
var groups = []crawler.Group{
	groupWho, crawler.GroupScope, crawler.GroupPace, crawler.GroupEnd, crawler.GroupRobots, crawler.GroupWire, crawler.GroupOutput, groupShow,
}

// Types of the settings whose values are paths.
const (
	typeFile = "file"
	typeDir  = "directory"
)

// takesPath reports whether the value of a setting is the name of a file.
func takesPath(s crawler.Setting) bool { return s.Type() == typeFile || s.Type() == typeDir }

// own returns the settings that are not options of a crawl.
func (f *runFlags) own() []crawler.Setting {
	return []crawler.Setting{
		{Name: "name", Group: groupWho, Larger: crawler.Other, Resume: crawler.NeedsNew, Value: word{&f.name, "token", nil},
			Help: "product token that robots.txt names this crawler by (or $CRAWL_NAME)"},
		{Name: "contact", Group: groupWho, Larger: crawler.Other, Resume: crawler.NeedsNew, Value: words{&f.contact, "URL|ADDRESS"},
			Help: "URL or e-mail address where site owners reach you; may be given twice, for both (or $CRAWL_CONTACT)"},
		{Name: "job", Group: crawler.GroupScope, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.job, typeFile, nil},
			Help: "job file with seeds, identity and settings by the names of these flags, which win over it (crawl init writes one)"},
		{Name: "column", Group: crawler.GroupScope, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.column, "column", nil},
			Help: "seed files are CSV or TSV: the column with the URLs, by its name in the first line, or by its number from 1 on"},
		{Name: "exclude-from", Group: crawler.GroupScope, Larger: crawler.Other, Resume: crawler.SortsURLs, Value: word{&f.excludeFrom, typeFile, nil},
			Help: "file of places to leave alone, one on each line: a URL prefix, or a regular expression"},
		{Name: "dir", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.dir, typeDir, nil},
			Help: "directory of the crawl (default: named after the first seed, seeds.txt -> seeds.crawl)"},
		{Name: "series", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.series, typeDir, nil},
			Help: "directory of the snapshots of a --job: make the next one, or continue the last one if it did not end"},
		{Name: "due", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: moment{&f.due},
			Help: "time that the run of a --series was due, which names its snapshot, as 2026-11-23T03:00:00Z (default: now)"},
		{Name: "fresh", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: toggle{&f.fresh},
			Help: "start again: the crawl in the directory is moved aside; in a --series: make the next snapshot though the last one did not end"},
		{Name: "provenance", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.provenance, "", []string{"yes", "no"}},
			Help: "write provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md when the run has ended by itself (it reads all outputs)"},
		{Name: "sign-key", Group: crawler.GroupOutput, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.signKey, typeFile, nil},
			Help: "Ed25519 private key, in PEM, to sign provenance.json with"},
		{Name: "dry-run", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: toggle{&f.dry},
			Help: "fetch only robots.txt, and show the plan: sites, what their robots.txt says about the seeds, pauses, the least time"},
		{Name: "progress", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.show, "", []string{"auto", "plain", "json", "none"}},
			Help: "what to show during the crawl: auto (a block in place on a terminal, otherwise a line every 30 s), plain (lines), json (an object on each line of standard error), none"},
		{Name: "json", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: toggle{&f.json},
			Help: "print the summary as JSON"},
		{Name: "log-level", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.log, "debug|info|warn|error", nil},
			Help: "what to report on standard error, or into --log-file"},
		{Name: "log-file", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.logFile, typeFile, nil},
			Help: "file for these reports; if it is moved away it is made anew, so that logs can be rotated"},
		{Name: "metrics", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.metrics, "address", nil},
			Help: "address of /metrics, for Prometheus, and /healthz, as 9464 (of this machine alone) or 0.0.0.0:9464"},
		{Name: "on-end", Group: groupShow, Larger: crawler.Other, Resume: crawler.ThisRun, Value: word{&f.onEnd, "command", nil},
			Help: "run a shell command at the end, with the summary as JSON on its standard input"},
	}
}

// settings returns all settings that have a flag, by group.
func (f *runFlags) settings() []crawler.Setting {
	all := slices.Concat(f.opts.Settings(), f.own())
	all = slices.DeleteFunc(all, func(s crawler.Setting) bool { return s.CodeOnly })
	slices.SortStableFunc(all, func(a, b crawler.Setting) int { return slices.Index(groups, a.Group) - slices.Index(groups, b.Group) })
	return all
}

// setting returns the setting of that name, or the zero Setting if there is none.
func (f *runFlags) setting(name string) crawler.Setting {
	all := f.settings()
	if i := slices.IndexFunc(all, func(s crawler.Setting) bool { return s.Name == name }); i >= 0 {
		return all[i]
	}
	return crawler.Setting{}
}

func (f *runFlags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false // keep the order of the table
	for _, s := range f.settings() {
		addFlag(fs, s).Annotations = map[string][]string{groupKey: {string(s.Group)}}
	}
}

// borrow adds flags for the named settings of a crawl to a command that does not crawl.
func borrow(fs *pflag.FlagSet, o *crawler.Options, when string, names ...string) {
	for _, s := range o.Settings() {
		if slices.Contains(names, s.Name) {
			s.Help = when + s.Help
			addFlag(fs, s)
		}
	}
}

func addFlag(fs *pflag.FlagSet, s crawler.Setting) *pflag.Flag {
	short := ""
	if s.Name == "dir" {
		short = "d"
	}
	flag := fs.VarPF(flagValue{s}, s.Name, short, s.Help)
	if s.IsBoolFlag() {
		flag.NoOptDefVal, flag.DefValue = "true", "false"
	}
	return flag
}

// A flagValue is a setting as a flag; pflag requires the type bool for booleans.
type flagValue struct{ crawler.Setting }

func (v flagValue) Type() string {
	if v.IsBoolFlag() {
		return "bool"
	}
	return v.Setting.Type()
}

// options returns the options that the flags set.
func (f *runFlags) options() (o crawler.Options, err error) {
	o = f.opts
	if f.excludeFrom != "" {
		o.Exclude, err = excludeFrom(f.excludeFrom, o.Exclude)
	}
	return o, err
}

// A word is a text setting; known lists its values, if only a few are valid.
type word struct {
	to    *string
	of    string
	known []string
}

func (w word) String() string { return *w.to }

func (w word) Type() string {
	if w.known != nil {
		return strings.Join(w.known, "|")
	}
	return w.of
}

func (w word) Choices() []string {
	if w.known == nil && strings.Contains(w.of, "|") {
		return strings.Split(w.of, "|")
	}
	return w.known
}

func (w word) Set(text string) error {
	if w.known != nil && !slices.Contains(w.known, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(w.known, ", "))
	}
	*w.to = text
	return nil
}

type words struct {
	to *[]string
	of string
}

func (w words) String() string { return strings.Join(*w.to, " ") }

func (w words) Type() string { return w.of }

func (words) IsList() bool { return true }

func (w words) Set(text string) error {
	*w.to = append(*w.to, text)
	return nil
}

type toggle struct{ to *bool }

func (toggle) Type() string { return "no|yes" }

func (toggle) Choices() []string { return []string{"no", "yes"} }

func (toggle) IsBoolFlag() bool { return true }

func (t toggle) String() string {
	if *t.to {
		return "yes"
	}
	return "no"
}

func (t toggle) Set(text string) error {
	switch text {
	case "yes", "true", "1":
		*t.to = true
	case "no", "false", "0":
		*t.to = false
	default:
		return fmt.Errorf("%q is not one of no, yes", text)
	}
	return nil
}

// Package settings has the settings of crawl run: the options of a crawl, from the table of
// package crawler, and the settings of the command alone. The flags, their help, and the
// names in job files are made from these settings.
package settings

import (
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/spf13/pflag"
)

// Flags are the flags of crawl run: the settings of a crawl, and the settings of the
// command alone.
type Flags struct {
	Crawl                       crawler.Options // the settings of the crawl
	Dir, Name, Job, excludeFrom string
	Column                      string
	Show, Log                   string
	Metrics, OnEnd, LogFile     string
	Provenance, SignKey         string
	SignRequests, Agent         string
	Contact                     []string
	JSON, Fresh, Dry            bool
	Series, State               string
	Due                         time.Time

	Contents []string           // names of ContentNames that --output has: what is exported at the end
	JobText  []byte             // the text of the job file, after it is read
	Schedule *schedule.Schedule // of the job file; nil if it has none
}

// Usual returns the flags with their default values.
func Usual() *Flags { return &Flags{Show: "auto", Log: "warn", Provenance: "yes"} }

// Groups of the command's own settings.
const (
	groupWho  setting.Group = "Who asks"
	groupShow setting.Group = "What is shown"
)

// Groups are the headings of the help, in order.
var Groups = []setting.Group{
	groupWho, setting.GroupScope, setting.GroupPace, setting.GroupEnd, setting.GroupRobots, setting.GroupWire, setting.GroupOutput, groupShow,
}

// Types of the settings whose values are paths.
const (
	typeFile = "file"
	typeDir  = "directory"
)

// TakesPath reports whether the value of a setting is the name of a file.
func TakesPath(s setting.Setting) bool { return s.Type() == typeFile || s.Type() == typeDir }

// own returns the settings that are not options of a crawl.
func (f *Flags) own() []setting.Setting {
	return []setting.Setting{
		{Name: "name", Group: groupWho, Larger: setting.Other, Resume: setting.NeedsNew, Value: word{&f.Name, "token", nil},
			Help: "name (product token) of this crawler in robots.txt (or $CRAWL_NAME)"},
		{Name: "contact", Group: groupWho, Larger: setting.Other, Resume: setting.NeedsNew, Value: words{&f.Contact, "URL|ADDRESS"},
			Help: "URL or e-mail address where site owners reach you; may be given twice, for both (or $CRAWL_CONTACT)"},
		{Name: "sign-requests", Group: groupWho, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.SignRequests, typeFile, nil},
			Help: "Ed25519 private key, in PEM, to sign each request with (Web Bot Auth); crawl identity keygen makes one"},
		{Name: "signature-agent", Group: groupWho, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Agent, "URL", nil},
			Help: "https URL of the site that has the public key of --sign-requests, in the directory that crawl identity publish writes"},
		{Name: "job", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Job, typeFile, nil},
			Help: "job file with seeds, identity and settings, which have the names of these flags; a flag overrides the file (crawl init writes one)"},
		{Name: "column", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Column, "column", nil},
			Help: "seed files are CSV or TSV: the column with the URLs, by its name in the first line, or by its number from 1 on"},
		{Name: "exclude-from", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.SortsURLs, Value: word{&f.excludeFrom, typeFile, nil},
			Help: "file with URLs that are not followed: each line is a URL prefix or a regular expression"},
		{Name: "dir", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Dir, typeDir, nil},
			Help: "directory of the crawl (default: named after the first seed, seeds.txt -> seeds.crawl)"},
		{Name: "state", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.State, "URL", nil},
			Help: "work with other machines on one crawl, whose state is in a PostgreSQL database, such as postgres://user@host/name; the password comes from $PGPASSWORD or ~/.pgpass"},
		{Name: "series", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Series, typeDir, nil},
			Help: "directory of the snapshots of a --job: make the next snapshot, or continue the last one if it has not ended"},
		{Name: "due", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: moment{&f.Due},
			Help: "time at which the run of a --series was due, after which the snapshot is named, such as 2026-11-23T03:00:00Z (default: now)"},
		{Name: "fresh", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: toggle{&f.Fresh},
			Help: "start again, and move the crawl in the directory aside; in a --series: make the next snapshot even if the last one has not ended"},
		{Name: "provenance", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Provenance, "", []string{"yes", "no"}},
			Help: "write provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md when the run has ended by itself (it reads all outputs)"},
		{Name: "sign-key", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.SignKey, typeFile, nil},
			Help: "Ed25519 private key, in PEM, to sign provenance.json with"},
		{Name: "dry-run", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: toggle{&f.Dry},
			Help: "fetch only robots.txt, and show the plan: sites, what their robots.txt says about the seeds, pauses, the shortest possible time"},
		{Name: "progress", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Show, "", []string{"auto", "plain", "json", "none"}},
			Help: "what to show during the crawl: auto (on a terminal a block of lines that is drawn again and again, otherwise a line every 30 s), plain (lines), json (an object on each line of standard error), none"},
		{Name: "json", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: toggle{&f.JSON},
			Help: "print the summary as JSON"},
		{Name: "log-level", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Log, "debug|info|warn|error", nil},
			Help: "what to report on standard error, or into --log-file"},
		{Name: "log-file", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.LogFile, typeFile, nil},
			Help: "file for these reports; if the file is moved away, a new one is made, for log rotation"},
		{Name: "metrics", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.Metrics, "address", nil},
			Help: "address at which /metrics, for Prometheus, and /healthz are served, such as 9464 (for this machine alone) or 0.0.0.0:9464"},
		{Name: "on-end", Group: groupShow, Larger: setting.Other, Resume: setting.ThisRun, Value: word{&f.OnEnd, "command", nil},
			Help: "run a shell command at the end, with the summary as JSON on its standard input"},
	}
}

// All returns all settings that have a flag, by group.
func (f *Flags) All() []setting.Setting {
	all := slices.Concat(f.Crawl.Settings(), f.own())
	for i, s := range all {
		if s.Name == "output" {
			all[i].Value = outputs{Value: s.Value, f: f}
			all[i].Help = "what to write: warc (WARC files and their index), jsonl (pages.jsonl), bodies (pages.jsonl with the bodies), links (links.jsonl), none; text (text.jsonl) and markdown (a directory) are exported from warc and jsonl at the end of each run"
		}
	}
	all = slices.DeleteFunc(all, func(s setting.Setting) bool { return s.CodeOnly })
	slices.SortStableFunc(all, func(a, b setting.Setting) int { return slices.Index(Groups, a.Group) - slices.Index(Groups, b.Group) })
	return all
}

// Setting returns the setting with this name, or the zero Setting if none exists.
func (f *Flags) Setting(name string) setting.Setting {
	all := f.All()
	if i := slices.IndexFunc(all, func(s setting.Setting) bool { return s.Name == name }); i >= 0 {
		return all[i]
	}
	return setting.Setting{}
}

// Register adds the flags of all settings to fs.
func (f *Flags) Register(fs *pflag.FlagSet) {
	fs.SortFlags = false // keep the order of the table
	for _, s := range f.All() {
		addFlag(fs, s).Annotations = map[string][]string{GroupKey: {string(s.Group)}}
	}
}

// Options returns the options that the flags set.
func (f *Flags) Options() (o crawler.Options, err error) {
	o = f.Crawl
	if f.excludeFrom != "" {
		o.Exclude, err = excludeFrom(f.excludeFrom, o.Exclude)
	}
	return o, err
}

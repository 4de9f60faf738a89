// Package jobfile reads job files. A job file describes a crawl in YAML, by the names of the
// settings of crawl run. All mistakes of a file are reported together, each with its line and
// column. The error has the exit code of a mistake of the user.
package jobfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/setting"
	"go.yaml.in/yaml/v3"
)

// maxJobFile is the maximum size of a job file, in bytes. A longer list of seeds must be in a
// file of its own.
const maxJobFile = 1 << 20

// A File is a crawl described in YAML: settings by the names of their flags, the
// identity, and the seeds. All problems are collected, so that they are reported together.
type File struct {
	name     string
	flags    *settings.Flags        // the settings that it sets
	aside    *settings.Flags        // receives, and so ignores, the settings that flags on the command line override
	given    func(flag string) bool // reports whether a flag is on the command line
	seeds    []*yaml.Node
	sites    jobSites
	problems []problem
}

// A problem is a mistake at one place of a file.
type problem struct {
	line, column int // from 1; column is 0 if not known
	text         string
}

// Keys of a job file that are not names of settings.
const (
	keyIdentity = "identity"
	keySeeds    = "seeds"
	keySites    = "sites"
	keySchedule = "schedule"
)

// notInJob are the settings that a job file may not have, each with the reason.
var notInJob = map[string]string{
	"job":     "a job file names no other one",
	"series":  "it belongs to one call: give --series on the command line",
	"due":     "it belongs to one call: give --due on the command line",
	"fresh":   "it would throw away the crawl at each call: give --fresh on the command line",
	"dry-run": "it belongs to one call: give --dry-run on the command line, or crawl check",
	"lift":    "it belongs to one call: give --lift on the command line",
	"rescan":  "it belongs to one call: give --rescan on the command line",
	"name":    "it belongs in identity: {name: mybot}",
	"contact": "it belongs in identity: {contact: https://example.org/mybot}",
}

// Read reads the job file that f names, and sets its settings in f, except those that are given
// on the command line. File.Err returns the mistakes in the job file. It returns all of them
// only after the calls of OpenSeeds and Settle.
func Read(f *settings.Flags, given func(flag string) bool) (*File, error) {
	j := &File{name: f.Job, flags: f, aside: settings.Usual(), given: given}
	root, raw, err := parseJob(f.Job)
	if err != nil {
		return nil, err
	}
	f.JobText = raw
	j.read(root)
	return j, nil
}

// parseJob returns the only document of a file, and the bytes of the file. If the file is
// empty, the document is nil.
func parseJob(name string) (root *yaml.Node, raw []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, exit.Usagef("--job: %w", err)
	}
	defer file.Close()
	raw, err = io.ReadAll(io.LimitReader(file, maxJobFile+1))
	switch {
	case err != nil:
		return nil, nil, exit.Usagef("--job: %w", err)
	case len(raw) > maxJobFile:
		return nil, nil, exit.Usagef("%s: a job file has %s at most: put seeds into a file of their own, and its name into the job file", name, say.Size(maxJobFile))
	}
	in := yaml.NewDecoder(strings.NewReader(string(raw)))
	var document, second yaml.Node
	switch err := in.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, raw, nil
	case err != nil:
		return nil, nil, syntaxError(name, err)
	}
	switch err := in.Decode(&second); {
	case errors.Is(err, io.EOF):
		return document.Content[0], raw, nil
	case err != nil:
		return nil, nil, syntaxError(name, err)
	}
	return nil, nil, exit.Usagef("%s:%d: a second document begins here: a job file has one", name, second.Line)
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxError returns the error of a file that is not YAML.
func syntaxError(name string, err error) error {
	text := err.Error()
	if m := yamlError.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if m[1] != "" {
			name += ":" + m[1]
		}
	}
	return exit.Usagef("%s: this is not YAML: %s", name, text)
}

// wrong adds a problem whose place in the file is that of a node.
func (j *File) wrong(at *yaml.Node, format string, args ...any) {
	j.problems = append(j.problems, problem{at.Line, at.Column, fmt.Sprintf(format, args...)})
}

// Err returns all problems as one error, in the order of the file.
func (j *File) Err() error {
	if len(j.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(j.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	lines := make([]string, len(j.problems))
	for i, p := range j.problems {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", j.name, p.line, p.column, p.text)
	}
	return exit.Usagef("%s", strings.Join(lines, "\n"))
}

func (j *File) read(root *yaml.Node) {
	if root == nil {
		j.problems = append(j.problems, problem{1, 1, "the file is empty: crawl init writes one to begin with"})
		return
	}
	j.mapping(root, "a job file", func(key, value *yaml.Node) {
		switch key.Value {
		case keyIdentity:
			j.identity(value)
		case keySeeds:
			j.readSeeds(value)
		case keySites:
			j.readSites(value)
		case keySchedule:
			j.readSchedule(key, value)
		default:
			j.setting(key, value)
		}
	})
}

// mapping calls f for each key of a mapping and its value.
func (j *File) mapping(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		j.wrong(n, "%s is a list of names, each with a value after a colon, as in \"delay: 2s\"", what)
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, known := first[key.Value]; known {
			j.wrong(key, "%s is set already in line %d", key.Value, line)
			continue
		}
		first[key.Value] = key.Line
		f(key, value)
	}
}

// follow returns the node that an alias of YAML refers to.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// texts returns the items of a list, or a single value as a list of one.
func (j *File) texts(of string, n *yaml.Node) []*yaml.Node {
	n = follow(n)
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var texts []*yaml.Node
	for _, item := range items {
		if item = follow(item); item.Kind != yaml.ScalarNode {
			j.wrong(item, "%s: a value is expected here, as in \"%s: [one, another]\"", of, of)
		} else if item.Tag == "!!null" {
			j.wrong(item, "%s has no value: give it one, or remove the line", of)
		} else {
			texts = append(texts, item)
		}
	}
	return texts
}

// identity reads the name and contact of the crawler.
func (j *File) identity(n *yaml.Node) {
	j.mapping(n, keyIdentity, func(key, value *yaml.Node) {
		switch key.Value {
		case "name", "contact":
			j.set(j.flags.Setting(key.Value), value)
		default:
			j.wrong(key, "identity has no %q: %sit has name and contact", key.Value, guess.DidYouMean(key.Value, []string{"name", "contact"}))
		}
	})
}

// readSeeds stores the seeds with their places in the file. A seed may be the name of a file,
// so whether it is wrong is known only when OpenSeeds opens it.
func (j *File) readSeeds(n *yaml.Node) {
	for _, item := range j.texts(keySeeds, n) {
		if item.Value == "-" {
			j.wrong(item, "seeds: standard input is for the command line: name a file")
			continue
		}
		j.seeds = append(j.seeds, item)
	}
}

// setting reads the value of a setting that has a flag.
func (j *File) setting(key, value *yaml.Node) {
	s := j.flags.Setting(key.Value)
	switch why, refused := notInJob[key.Value]; {
	case refused:
		j.wrong(key, "%s: %s", key.Value, why)
	case s.Name == "":
		j.wrong(key, "there is no setting %q: %scrawl init --all - lists them", key.Value, guess.DidYouMean(key.Value, j.keys()))
	default:
		j.set(s, value)
	}
}

// set sets a setting to a value. If the setting takes a list, set gives it each item of the
// value.
func (j *File) set(s setting.Setting, value *yaml.Node) {
	if j.given(s.Name) {
		s = j.aside.Setting(s.Name)
	}
	j.assign(s, value)
}

func (j *File) assign(s setting.Setting, value *yaml.Node) {
	value = follow(value)
	if value.Kind != yaml.ScalarNode && !s.IsList() {
		j.wrong(value, "%s has one value, as in \"%s: %s\"", s.Name, s.Name, cmp.Or(s.String(), "..."))
		return
	}
	for _, item := range j.texts(s.Name, value) {
		text := item.Value
		if settings.TakesPath(s) && text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(j.name), text)
		}
		if err := s.Set(text); err != nil {
			j.wrong(item, "%s: %v%s", s.Name, err, guess.Meant(text, s.Choices()))
		}
	}
}

// Has reports whether a job file may have a setting.
func Has(s setting.Setting) bool { return notInJob[s.Name] == "" }

// keys returns the names that a job file may have.
func (j *File) keys() []string {
	keys := []string{keyIdentity, keySeeds, keySites, keySchedule}
	for _, s := range j.flags.All() {
		if Has(s) {
			keys = append(keys, s.Name)
		}
	}
	return keys
}

// Dir returns the default directory of the crawl of a job file. It is beside the file.
func (j *File) Dir() string {
	return strings.TrimSuffix(j.name, filepath.Ext(j.name)) + ".crawl"
}

// OpenSeeds reads the seeds: URLs, and files whose names are relative to the job file.
func (j *File) OpenSeeds(r seeds.Reader) (all []string) {
	for _, at := range j.seeds {
		arg := at.Value
		if file := filepath.Join(filepath.Dir(j.name), arg); !filepath.IsAbs(arg) && crawldir.Exists(file) {
			arg = file
		}
		some, err := r.Of(arg, j.flags.Column)
		if err != nil {
			j.wrong(at, "seeds: %v", err)
		} else if len(some) == 0 {
			j.wrong(at, "seeds: no valid seed in %s: write one URL on each line, such as https://example.org/", arg)
		}
		all = append(all, some...)
	}
	if len(j.seeds) == 0 && len(j.problems) == 0 {
		j.problems = append(j.problems, problem{1, 1, "no seeds: add them as in \"seeds: [https://example.org/, more-seeds.txt]\", or give them on the command line"})
	}
	return all
}

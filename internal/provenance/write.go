package provenance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Options are the settings of Write. The zero value is valid.
type Options struct {
	Key     ed25519.PrivateKey        // signs provenance.json; nil: no signature
	Kept    bool                      // use the digests that the crawl has recorded, and only compare the lengths of such files
	NoAudit bool                      // leave out the audit, which reads crawl.log twice and sorts it
	Temp    string                    // directory for temporary files, which take about 1,300 bytes per request; "": the system's directory
	Now     time.Time                 // time of the provenance, which decides which queued URLs still wait; zero: the current time
	OptOut  func(frontier.URL) string // like account.Account.OptOut
}

// A Result has the provenance that Write has written, and the state of the datasheet.
type Result struct {
	*Provenance
	Signed bool
	Sheet  Sheet
}

// Write writes provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md into the
// directory of a crawl. Each file is written completely or not at all. If Options.Key is set,
// Write also writes a signature; otherwise it removes an earlier signature. Write reads all
// outputs of the crawl and compares their digests with what the crawl has recorded. If a file
// differs, Write returns a *store.DamagedError with its path, and writes nothing. While Write
// works, no process can run the crawl.
//
// If ctx ends or Write fails, some of the files may be new and others old. Verify reports this.
// The error is a *store.InUseError, a *store.DamagedError, a *store.VersionError, a
// *store.PurgeError, an error that wraps store.ErrNoCrawl, the cause of ctx, or an error of the
// file system.
func Write(ctx context.Context, dir string, o Options) (res *Result, err error) {
	if _, err := os.Stat(filepath.Join(dir, store.StateFile)); err != nil {
		return nil, fmt.Errorf("%w in %s: %w", store.ErrNoCrawl, dir, err)
	}
	for _, name := range []string{File, SignatureFile, AbsencesFile, RobotsFile, SeedsFile, DatasheetFile} {
		if _, err := outfile.ResolveRegular(filepath.Join(dir, name)); err != nil {
			return nil, err // return before any output is read
		}
	}
	state, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	w := newWriter(ctx, dir, state, o)
	defer func() { err = errors.Join(err, w.discard()) }()
	w.expect()
	stop := make(chan struct{})
	audited := w.startAudit(stop)
	defer func() {
		close(stop)
		<-audited
	}()
	for _, step := range []func() error{
		w.begin, w.readLog, w.readPages, w.writeLists, w.readOutputs, func() error { return w.judge(<-audited) }, w.compare, w.writeSheet, w.writeFile, w.publish,
	} {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Result{w.Provenance, o.Key != nil, w.sheet}, nil
}

// A writer makes one provenance. It is not safe for concurrent use.
type writer struct {
	*Provenance
	Options
	ctx     context.Context
	dir     string
	into    string // directory into which the files are written; the same as dir, except in again
	state   *store.Reader
	account *account.Account
	asked   map[string]string // settings of the last run
	seeds   *seedList
	staged  []*stagedFile // files that have temporary names, in the order in which they will be renamed
	sheet   Sheet

	newOrder func(temp string) order
}

func newWriter(ctx context.Context, dir string, state *store.Reader, o Options) *writer {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	name := filepath.Base(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(abs)
	}
	p := &Provenance{
		Format: Format, Version: Version, Name: name, Written: o.Now.UTC(), Writer: processes.This(),
		Figures: Figures{
			TopHosts: []Count{}, Statuses: map[string]int64{}, Errors: map[string]int64{}, Types: map[string]int64{}, PageChanges: map[string]int64{},
			Charsets: map[string]int64{}, Usage: map[string]int64{}, Licenses: []Count{},
		},
		Runs: Many[Run]{List: []Run{}}, Changes: Many[Change]{List: []Change{}}, Overrides: Many[Override]{List: []Override{}},
		Orders: Many[crawler.Order]{List: []crawler.Order{}}, Outputs: []Output{},
		Robots:   Robots{File: RobotsFile},
		Absences: Absences{File: AbsencesFile, Fates: map[frontier.Code]int64{}, Refused: map[string]int64{}, SkippedLinks: map[string]int64{}},
	}
	return &writer{
		Provenance: p, Options: o, ctx: ctx, dir: dir, into: dir, state: state,
		newOrder: func(temp string) order { return crawllog.NewOrder(temp) },
	}
}

// quit returns the cause for which the context of w has ended, or nil if it has not ended.
func (w *writer) quit() error { return causeOf(w.ctx) }

// causeOf returns the cause for which a context has ended, or nil if it has not ended.
func causeOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// begin reads the identity of the crawler and the settings of the last run.
func (w *writer) begin() (err error) {
	if w.account, err = account.New(&w.state.Records, w.Now); err != nil {
		return err
	}
	w.account.OptOut, w.account.Quit = w.OptOut, w.quit
	run, asked, err := kept.Asked(w.state)
	if err != nil {
		return err
	}
	w.asked = asked
	id := crawler.Identity(run)
	w.Identity = Identity{Token: id.Token, Contact: id.Contact, Mail: id.Mail, UserAgent: id.UserAgent(), From: id.From(), Archived: []string{}}
	w.readSettings()
	return nil
}

// readSettings adds the settings of the last run, in the order of crawler.Options.Settings.
func (w *writer) readSettings() {
	sum := sha256.New()
	rest := maps.Clone(w.asked)
	add := func(name, value, usual string) {
		w.Settings = append(w.Settings, Setting{name, value, value != usual, usual})
		fmt.Fprintf(sum, "%s\x00%s\x00", name, value)
	}
	for _, s := range new(crawler.Options).Settings() {
		usual := s.String()
		value, known := rest[s.Name]
		if !known { // the program of the last run did not have this setting
			value = usual
		}
		delete(rest, s.Name)
		add(s.Name, value, usual)
		if s.Resume != setting.ThisRun && s.Compare(usual, value) == setting.Wider {
			w.Overrides.add(Override{Setting: s.Name, Value: value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		add(name, rest[name], Unknown)
	}
	w.SettingsSHA256 = hex.EncodeToString(sum.Sum(nil))
}

// writeLists writes robots.jsonl, absences.jsonl and, if there are more than MostSeeds seeds,
// SeedsFile.
func (w *writer) writeLists() error {
	seeds, err := w.stage(SeedsFile)
	if err != nil {
		return err
	}
	w.seeds = &seedList{to: seeds}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{RobotsFile, w.writeRobots}, {AbsencesFile, w.writeAbsences}} {
		to, err := w.stage(f.name)
		if err == nil {
			err = f.write(to)
		}
		if err == nil {
			err = to.finish()
		}
		if err != nil {
			return err
		}
		w.Outputs = append(w.Outputs, to.output())
	}
	if err := seeds.finish(); err != nil {
		return err
	}
	out := seeds.output()
	w.Seeds = Seeds{Count: w.seeds.n, SHA256: out.SHA256, List: append([]string{}, w.seeds.list...)}
	if w.seeds.n <= MostSeeds {
		return w.drop(seeds)
	}
	w.Seeds.List, w.Seeds.File = []string{}, SeedsFile
	w.Outputs = append(w.Outputs, out)
	return nil
}

// A seedList writes seeds as lines, and remembers the first MostSeeds of them.
type seedList struct {
	to   io.Writer
	n    int64
	list []string
}

func (s *seedList) add(url, tag string) error {
	if tag != "" {
		url += "\t" + tag
	}
	if s.n++; s.n <= MostSeeds {
		s.list = append(s.list, url)
	}
	_, err := io.WriteString(s.to, url+"\n")
	return err
}

// An audited is the result of an audit: a report or an error.
type audited struct {
	report *audit.Report
	err    error
}

// errStopped ends an audit whose result is not needed, because Write has failed.
var errStopped = errors.New("the provenance is not written")

// startAudit starts an audit of the crawl in a goroutine. The audit ends early if stop is
// closed, or if the context of w ends. The returned channel gets the result and is then closed.
// With Options.NoAudit it is closed at once.
func (w *writer) startAudit(stop <-chan struct{}) <-chan audited {
	done := make(chan audited, 1)
	if w.NoAudit {
		close(done)
		return done
	}
	quit := func() error {
		select {
		case <-stop:
			return errStopped
		default:
			return w.quit()
		}
	}
	// Write waits until this goroutine ends.
	go func() {
		defer close(done)
		r, err := audit.Dir(w.dir, audit.Options{Temp: w.Temp, Quit: quit, Gauge: gauge.Of(w.ctx)})
		done <- audited{r, err}
	}()
	return done
}

// judge stores the result of the audit in the provenance.
func (w *writer) judge(is audited) error {
	a, r := &w.Audit, is.report
	a.Verdict, a.Checks = NotAudited, []audit.Check{}
	switch {
	case w.NoAudit:
		a.Why = "it was not asked for"
		return nil
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case is.err != nil:
		a.Why = is.err.Error()
		return nil
	}
	a.Verdict = Clean
	if !r.Clean() {
		a.Verdict = Violated
	}
	a.Violations, a.UnprovenLines, a.Requests, a.Checks = r.Violated, r.UnprovenLines, r.Requests, r.Checks
	a.LogSHA256, a.CopiesSHA256 = r.LogSHA256, r.CopiesSHA256
	w.Identity.Archived = append(w.Identity.Archived, r.UserAgents...)
	return nil
}

// compare stores which crawl is the previous one, and the digest of its provenance.json.
func (w *writer) compare() error {
	dir := w.asked["previous"]
	if dir == "" {
		return nil
	}
	w.Previous = &Previous{Dir: dir}
	dir, _ = store.LocatePrevious(w.dir, dir)
	out, _, err := digestFile(w.ctx, filepath.Join(dir, File), File, 0)
	if err == nil {
		w.Previous.Provenance = out.SHA256
	} else if w.ctx.Err() != nil {
		return err
	}
	return nil // leave the digest empty, because the file cannot be read
}

// unsummed is the value of FileSHA256 while the digest of provenance.json is computed.
var unsummed = strings.Repeat("0", 2*sha256.Size)

// writeFile writes provenance.json and its signature.
func (w *writer) writeFile() error {
	w.FileSHA256 = unsummed
	text, err := encode(w.Provenance, "  ")
	if err != nil {
		return err
	}
	w.FileSHA256 = digestOf(text)
	copy(text[bytes.LastIndex(text, []byte(unsummed)):], w.FileSHA256)
	files := map[string][]byte{File: text}
	if w.Key != nil {
		files[SignatureFile] = ed25519.Sign(w.Key, text)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.stageWhole(name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// stageWhole writes text to a file under a temporary name.
func (w *writer) stageWhole(name string, text []byte) error {
	to, err := w.stage(name)
	if err != nil {
		return err
	}
	if _, err := to.Write(text); err != nil {
		return err
	}
	return to.finish()
}

// A stagedFile is a file that is written under a temporary name.
type stagedFile struct {
	name string
	file *outfile.File
	sum  hash.Hash
	n    int64
	buf  []byte
}

// stage begins a file under a temporary name, and adds it to w.staged.
func (w *writer) stage(name string) (*stagedFile, error) {
	file, err := outfile.CreateRegular(filepath.Join(w.into, name))
	if err != nil {
		return nil, err
	}
	s := &stagedFile{name: name, file: file, sum: sha256.New()}
	w.staged = append(w.staged, s)
	return s, nil
}

func (s *stagedFile) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	if len(s.buf) >= 256<<10 {
		return len(p), s.flush()
	}
	return len(p), nil
}

func (s *stagedFile) flush() error {
	n, err := s.file.Write(s.buf)
	s.sum.Write(s.buf[:n])
	s.n += int64(n)
	s.buf = s.buf[:0]
	return err
}

// finish writes what is left in the buffer, syncs the file and closes it.
func (s *stagedFile) finish() error {
	return errors.Join(s.flush(), s.file.Finish())
}

func (s *stagedFile) output() Output {
	return Output{s.name, s.n, hex.EncodeToString(s.sum.Sum(nil))}
}

// drop removes a staged file that is not needed after all.
func (w *writer) drop(s *stagedFile) error {
	w.staged = slices.DeleteFunc(w.staged, func(t *stagedFile) bool { return t == s })
	return s.file.Discard()
}

// discard removes the staged files that are still under their temporary names.
func (w *writer) discard() (err error) {
	for _, s := range w.staged {
		err = errors.Join(err, s.file.Discard())
	}
	return err
}

// publish renames all staged files to their final names. It first removes the old
// provenance.json and its signature, and renames the new ones last. So after a kill there is no
// provenance.json that describes other files.
func (w *writer) publish() error {
	if err := remove(filepath.Join(w.dir, SignatureFile)); err != nil {
		return err
	}
	for _, s := range w.staged {
		if s.name != File {
			continue
		}
		if err := remove(s.file.Path()); err != nil {
			return err
		}
	}
	if w.Seeds.File == "" {
		if err := remove(filepath.Join(w.dir, SeedsFile)); err != nil {
			return err
		}
	}
	for len(w.staged) > 0 {
		s := w.staged[0]
		if err := s.file.Commit(); err != nil {
			return err
		}
		w.staged = w.staged[1:]
	}
	return store.SyncDir(w.dir)
}

// BrokenOff reports whether a kill has interrupted Write in dir. There is then no
// provenance.json, but a temporary file for it, because provenance.json is renamed last.
func BrokenOff(dir string) bool {
	path := filepath.Join(dir, File)
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && outfile.Unfinished(path)
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

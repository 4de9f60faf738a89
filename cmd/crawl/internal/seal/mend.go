package seal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Files returns the names of provenance.json and of the files written with it.
func Files() []string {
	return append([]string{provenance.File, provenance.SignatureFile}, writtenTogether...)
}

// Mend adds to the repair r the files of a sound crawl that differ from what provenance.json
// says. moved is true if missing WARC files were moved away on purpose. If some files cannot be
// restored, they are put aside together with provenance.json. No new provenance.json is written
// in this case, because it would vouch for damaged files.
func Mend(ctx context.Context, dir string, moved bool, r *store.Repair) error {
	s := Check{Dir: dir, Moved: moved, Problem: func(error) { r.Problems++ }}
	if _, err := s.Run(ctx); err != nil {
		return err
	}
	if r.Problems == 0 {
		return nil
	}
	r.Sound = false
	why := s.broken
	var rest []provenance.Difference
	switch of := strange(s.differs); {
	case why != "":
		rest = s.differs
	case of != nil: // then what provenance.json says about other files cannot be trusted either
		why, rest = of.File+" "+of.Why, ownDifferences(dir)
	default:
		var err error
		if rest, err = restoreSealed(ctx, dir, r, s.differs); err != nil {
			return err
		}
	}
	for _, d := range rest {
		if slices.Contains(frozenFiles, d.File) {
			r.Left = append(r.Left, fmt.Sprintf("%s %s: bring it back from a copy", d.File, d.Why))
		} else if why == "" {
			why = d.File + " " + d.Why
		}
	}
	if why == "" {
		return nil
	}
	var names []string
	for _, name := range Files() {
		if crawldir.Exists(filepath.Join(dir, name)) && !slices.Contains(r.Changed, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return r.PutAside(why+": put aside with all that was written with it", names...)
}

// strange returns a difference which shows that provenance.json itself is damaged or belongs to
// another crawl. Such a difference is in provenance.json itself, or in a file that agrees with
// the state file. The state file is sound, so provenance.json is wrong about such a file.
func strange(differs []provenance.Difference) *provenance.Difference {
	for i, d := range differs {
		if !slices.Contains(writtenTogether, d.File) && !slices.Contains(frozenFiles, d.File) && d.File != store.StateFile {
			return &differs[i]
		}
	}
	return nil
}

// restoreSealed makes r restore files, and returns the differences that remain.
func restoreSealed(ctx context.Context, dir string, r *store.Repair, differs []provenance.Difference) (rest []provenance.Difference, err error) {
	out, err := optout.Why()
	if err != nil {
		return nil, err
	}
	made, err := provenance.Restore(ctx, dir, differs, provenance.Options{OptOut: out})
	if err != nil {
		return nil, err
	}
	for _, m := range made {
		if err := r.Replace(m.Name, m.Text, fmt.Sprintf("%s: %s: it is as it was written", m.Name, m.How)); err != nil {
			return nil, err
		}
	}
	for _, d := range differs {
		if !slices.ContainsFunc(made, func(m provenance.Restored) bool { return m.Name == d.File }) {
			rest = append(rest, d)
		}
	}
	return rest, nil
}

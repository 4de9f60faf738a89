package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/storage"
)

// sealedFiles are provenance.json, and what is written with it.
func sealedFiles() []string {
	return append([]string{provenance.File, provenance.SignatureFile}, writtenTogether...)
}

// mendSeal has r mend the files of a sound crawl that are not as provenance.json says. What
// cannot be made as it was is put aside with provenance.json, and not written again: that
// would vouch for what is damaged.
func (p *program) mendSeal(dir string, f repairFlags, r *storage.Repair) error {
	s := sealCheck{dir: dir, moved: f.moved, problem: func(error) { r.Problems++ }}
	if _, err := s.run(); err != nil {
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
	case of != nil: // then it says nothing of other files either
		why, rest = of.File+" "+of.Why, ownDifferences(dir)
	default:
		var err error
		if rest, err = p.restoreSealed(dir, r, s.differs); err != nil {
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
	for _, name := range sealedFiles() {
		if exists(filepath.Join(dir, name)) && !slices.Contains(r.Changed, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return r.PutAside(why+": put aside with all that was written with it", names...)
}

// strange returns a difference that shows that provenance.json is damaged, or is that of
// another crawl: one of itself, or of a file that is as the sound state says.
func strange(differs []provenance.Difference) *provenance.Difference {
	for i, d := range differs {
		if !slices.Contains(writtenTogether, d.File) && !slices.Contains(frozenFiles, d.File) && d.File != storage.StateFile {
			return &differs[i]
		}
	}
	return nil
}

// restoreSealed has r make files as they were, and returns what differs still.
func (p *program) restoreSealed(dir string, r *storage.Repair, differs []provenance.Difference) (rest []provenance.Difference, err error) {
	out, err := optOut()
	if err != nil {
		return nil, err
	}
	made, err := provenance.Restore(context.Background(), dir, differs, provenance.Options{OptOut: out})
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

package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-json-experiment/json/v1"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/store"
)

// pages calls make for each line of pages.jsonl, in several goroutines. It then calls f with
// the results, in the order of the lines.
func pages[X any](ctx context.Context, s *Source, make func(*store.PageRecord) (X, error), f func(X) error) error {
	if s.Pages == "" {
		return nil
	}
	file, err := s.open(s.Pages)
	if err != nil {
		return err
	}
	defer file.Close()
	return readPages(ctx, file, s.Pages, s.split, make, f, s.damaged)
}

// same returns p. It is the argument make of pages if a line needs no work.
func same(p *store.PageRecord) (*store.PageRecord, error) { return p, nil }

// A madePage is a line of pages.jsonl with the result of make.
type madePage[X any] struct {
	blank   bool
	damaged error // why the line cannot be read; nil: it can
	made    X
	err     error // error that make has returned
}

func readPages[X any](ctx context.Context, r io.Reader, name string, split lines.Split, make func(*store.PageRecord) (X, error), f func(X) error, damaged func(*Damage) error) error {
	in, n := lines.NewPageReader(r), int64(0)
	var failed error // an error of make or of f, and not of reading
	err := lines.InOrder(ctx, in, split, func(b *lines.Block[[]madePage[X]]) {
		_ = b.Each(func(l lines.Line) error {
			b.Value = append(b.Value, readPage(l, make))
			return nil
		})
	}, func(b *lines.Block[[]madePage[X]]) error {
		for i, p := range b.Value {
			n = b.First + int64(i)
			failed = ctx.Err()
			switch {
			case failed != nil || p.blank:
			case p.damaged != nil:
				failed = damaged(&Damage{File: name, Line: int(n), Err: p.damaged})
			case p.err != nil:
				failed = p.err
			default:
				failed = f(p.made)
			}
			if failed != nil {
				return failed
			}
		}
		return nil
	})
	if err != nil && err != failed && err != ctx.Err() {
		err = fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return err
}

func readPage[X any](l lines.Line, make func(*store.PageRecord) (X, error)) (p madePage[X]) {
	if p.damaged = l.Err; p.damaged == nil && len(bytes.TrimSpace(l.Text)) == 0 {
		p.blank = true
		return p
	}
	var record store.PageRecord
	if p.damaged == nil {
		p.damaged = parsePage(l.Text, &record)
	}
	switch {
	case p.damaged != nil && l.Torn:
		p.damaged = fmt.Errorf("the last line is not whole, as in a crawl that still runs or was killed (crawl run on it mends that): %w", p.damaged)
	case p.damaged == nil:
		p.made, p.err = make(&record)
	}
	return p
}

func parsePage(line []byte, p *store.PageRecord) error {
	if err := json.Unmarshal(line, p); err != nil {
		return err
	}
	switch {
	case p.URL == "":
		return errors.New("the line has no url")
	case !goodTime(p.Time):
		return errors.New("the line has no time that could be one of a request")
	case p.Status < 0 || p.Status > 999:
		return fmt.Errorf("status %d is not an HTTP status", p.Status)
	case !p.Robots.IsZero() && !goodTime(p.Robots):
		return errors.New("robots is not the time of a request")
	}
	for _, field := range []struct {
		name string
		n    int64
		most int64
	}{{"size", p.Size, math.MaxInt64}, {"links", int64(p.Links), math.MaxInt32}, {"depth", int64(p.Depth), math.MaxInt32}} {
		if field.n < 0 || field.n > field.most {
			return fmt.Errorf("%s %d is out of range", field.name, field.n)
		}
	}
	return nil
}

// goodTime reports whether t can be written in RFC 3339.
func goodTime(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 && !t.IsZero() }

package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/storage"
)

// pages calls f for each line of pages.jsonl, in its order.
func (s *Source) pages(ctx context.Context, f func(*storage.PageRecord) error) error {
	if s.Pages == "" {
		return nil
	}
	file, err := s.open(s.Pages)
	if err != nil {
		return err
	}
	defer file.Close()
	return readPages(ctx, file, s.Pages, f, s.damaged)
}

func readPages(ctx context.Context, r io.Reader, name string, f func(*storage.PageRecord) error, damaged func(*Damage) error) error {
	in := lines.NewPageReader(r)
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && err != lines.ErrLong {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var p storage.PageRecord
		if err == nil {
			err = parsePage(line, &p)
		}
		if err != nil && in.Torn() {
			err = fmt.Errorf("the last line is not whole, as in a crawl that still runs or was killed (crawl run on it mends that): %w", err)
		}
		if err != nil {
			err = damaged(&Damage{File: name, Line: n, Err: err})
		} else {
			err = f(&p)
		}
		if err != nil {
			return err
		}
	}
}

func parsePage(line []byte, p *storage.PageRecord) error {
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

package store

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/disk"
)

// A countdown is a context that is canceled when its method Err has been called a given number
// of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// wholeCalls are the calls that read or write a whole crawl. A call that returns no error may
// have changed the crawl.
var wholeCalls = map[string]func(ctx context.Context, dir string) error{
	"ReadPages":  func(ctx context.Context, dir string) error { return pairErrors(ReadPages(ctx, dir)) },
	"ReadBodies": func(ctx context.Context, dir string) error { return pairErrors(ReadBodies(ctx, dir)) },
	"ReadLinks":  func(ctx context.Context, dir string) error { return pairErrors(ReadLinks(ctx, dir)) },
	"MakeIndex":  func(ctx context.Context, dir string) error { return second(MakeIndex(ctx, dir, nil)) },
	"Verify":     func(ctx context.Context, dir string) error { return second(Verify(ctx, dir, nil)) },
	"Check.Verify": func(ctx context.Context, dir string) error {
		return second(Check{Temp: filepath.Dir(dir), Problem: func(error) {}}.Verify(ctx, dir))
	},
	"Purge.Plan": func(ctx context.Context, dir string) error {
		return second(purgeOf(disk.Disk{}).Plan(ctx, dir))
	},
	"Purge.Run": func(ctx context.Context, dir string) error {
		return second(purgeOf(disk.Disk{}).Run(ctx, dir))
	},
	"NewRepair": func(ctx context.Context, dir string) error {
		r, err := NewRepair(ctx, dir, RepairOptions{Temp: filepath.Dir(dir)})
		if err != nil {
			return err
		}
		return r.Discard()
	},
}

// A call whose context ends, before it or at any moment in it, returns the error of the context.
// It leaves the crawl as it was, and no temporary file. After that the same call succeeds.
func TestCallsEndWithTheirContext(t *testing.T) {
	for kind, crawl := range map[string]string{"sound": mixedCrawl(t, 1, 12, disk.Disk{}, false).dir, "damaged": spoiltCrawl(t)} {
		for name, call := range wholeCalls {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "a.crawl")
				if err := os.CopyFS(dir, os.DirFS(crawl)); err != nil {
					t.Fatal(err)
				}
				was := everyFile(t, filepath.Dir(dir))
				if err := call(nil, dir); err == nil || !strings.Contains(err.Error(), "context is nil") {
					t.Errorf("a nil context: %v", err)
				}
				ended := 0
				for left := 0; ; left += 1 + left/4 {
					err := call(&countdown{t.Context(), left}, dir)
					if err == nil {
						break
					}
					if ended++; !errors.Is(err, context.Canceled) {
						t.Fatalf("after %d checks: %v", left, err)
					}
					if is := everyFile(t, filepath.Dir(dir)); !maps.Equal(is, was) {
						t.Fatalf("after %d checks the files differ: %v", left, differing(is, was))
					}
				}
				if ended < 5 {
					t.Errorf("the context was checked less than %d times", ended)
				}
			})
		}
	}
}

// differing returns the names of the files that two directories do not have in common.
func differing(is, was map[string]string) (names []string) {
	for name, text := range is {
		if old, ok := was[name]; !ok || old != text {
			names = append(names, name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			names = append(names, "no "+name)
		}
	}
	return names
}

// Verify reports no damage in files that it has not read because its context ended.
func TestAVerifyThatEndsEarlyFindsNoDamage(t *testing.T) {
	dir := mixedCrawl(t, 1, 12, disk.Disk{}, false).dir
	for left, over := 0, false; !over; left++ {
		_, err := Verify(&countdown{t.Context(), left}, dir, func(err error) { t.Errorf("after %d checks: %v", left, err) })
		over = err == nil
	}
}

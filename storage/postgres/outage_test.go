package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A node says once that its database does not answer, and once that it answers again. It says
// nothing about short interruptions, and nothing if other statements succeed.
func TestAnOutageIsLogged(t *testing.T) {
	down := &pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}
	for _, c := range []struct {
		name    string
		lasts   time.Duration
		between bool // another statement succeeds each second
		err     error
		want    []string
	}{
		{"short", shortOutage - time.Second/2, false, down, nil},
		{"long", 40 * time.Second, false, down, []string{"does not answer", "57P03", `"requests stop after"=30s "the node ends after"=15m0s`, "answers again", "after=4"}},
		{"network", 40 * time.Second, false, errors.New("connection reset"), []string{"does not answer", "connection reset", "answers again"}},
		{"one statement", 40 * time.Second, true, down, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var log strings.Builder
				db := &node{ctx: ctx, lease: 30 * time.Second, outage: longestOutage, outages: outageLog{to: slog.New(slog.NewTextHandler(&log, nil))}}
				up := time.Now().Add(c.lasts)
				statement := func() error {
					if time.Now().Before(up) {
						return c.err
					}
					return nil
				}
				done := make(chan error, 3)
				for range 2 {
					go func() { done <- db.retry(statement) }()
				}
				if c.between {
					for time.Now().Before(up) {
						if err := db.retry(func() error { return nil }); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Second)
					}
				}
				for range 2 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if lines := strings.Count(log.String(), "\n"); lines != min(2, len(c.want)) {
					t.Errorf("the log has %d lines:\n%s", lines, log.String())
				}
				for _, part := range c.want {
					if !strings.Contains(log.String(), part) {
						t.Errorf("the log does not have %q:\n%s", part, log.String())
					}
				}
			})
		})
	}
	db := &node{ctx: t.Context(), outage: longestReading} // a program that only reads has no log
	db.outages.failed(down, 0, longestReading)
	db.outages.answered()
}

package crawler

import (
	"context"
	"log/slog"
)

// A contained wraps the program's slog.Handler and recovers from its panics. A panic then loses
// one line of the log and does not end the process. The program itself could not recover,
// because the crawl logs from its own goroutines.
type contained struct{ to slog.Handler }

func (c contained) Enabled(ctx context.Context, l slog.Level) (yes bool) {
	_ = safely("Logger", func() { yes = c.to.Enabled(ctx, l) })
	return yes
}

func (c contained) Handle(ctx context.Context, r slog.Record) (err error) {
	if panicked := safely("Logger", func() { err = c.to.Handle(ctx, r) }); panicked != nil {
		return panicked
	}
	return err
}

func (c contained) WithAttrs(attrs []slog.Attr) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithAttrs(attrs) })
	return contained{to}
}

func (c contained) WithGroup(name string) slog.Handler {
	to := c.to
	_ = safely("Logger", func() { to = c.to.WithGroup(name) })
	return contained{to}
}

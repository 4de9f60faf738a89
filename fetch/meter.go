package fetch

import (
	"errors"
	"io"
	"math"

	"github.com/permesso-crawler/permesso/frontier"
)

// A meter counts the bytes of an answer while it is read, and ends it when a budget of
// bytes is spent, of the crawl or of the site. By what it counts the frontier knows that
// the answer is still read, which may take hours where all share a small bandwidth.
type meter struct {
	io.ReadCloser
	turn  *frontier.Turn
	left  int64
	spent bool // the answer was ended
}

// metered returns body with the meter of the turn, or body itself if there is no budget,
// of bytes or of bandwidth.
func (h *host) metered(a ask, body io.ReadCloser) io.ReadCloser {
	left := a.turn.Received(0)
	if left == math.MaxInt64 && h.fetcher.throttle == nil {
		return body
	}
	return &meter{ReadCloser: body, turn: a.turn, left: left}
}

// Read reads little at once: what other visits read meanwhile is known only after it.
func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		m.spent = true
		return 0, errLength
	}
	n, err := m.ReadCloser.Read(p[:min(int64(len(p)), m.left, portion)])
	m.left = m.turn.Received(int64(n))
	return n, err
}

// errSpent ends an answer that is of no use in part.
var errSpent = errors.New("a budget of bytes is spent")

// endOf is the error of an answer that was read into b, and was perhaps ended by its
// meter. A page is then cut. A robots.txt would lack what it forbids, and a page of which
// nothing came would count as fetched: both are stopped, and asked for again when the
// budgets allow it.
func (a *ask) endOf(b *body, from io.Reader, status int, err error) error {
	m, ok := from.(*meter)
	if !ok || !m.spent || isSpool(err) {
		return err
	}
	if status/100 == 2 && (a.robots || b.n == 0) {
		return errSpent
	}
	b.cut = true
	return nil
}

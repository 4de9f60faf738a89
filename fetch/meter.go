package fetch

import (
	"errors"
	"io"
	"math"

	"github.com/permesso-crawler/permesso/frontier"
)

// A meter counts the bytes of an answer while the answer is read. It ends the reading when the
// crawl or the site has spent its budget of bytes. Its reports tell the frontier that the answer
// is still being read, which may take hours if all answers share a small bandwidth.
type meter struct {
	io.ReadCloser
	turn  *frontier.Turn
	left  int64
	spent bool // the meter has ended the answer, because a budget is spent
}

// metered returns body with a meter, or body itself if neither bytes nor bandwidth are limited.
func (h *host) metered(a requestSpec, body io.ReadCloser) io.ReadCloser {
	left := a.turn.Received(0)
	if left == math.MaxInt64 && h.fetcher.throttle == nil {
		return body
	}
	return &meter{ReadCloser: body, turn: a.turn, left: left}
}

// Read reads at most portion bytes at a time. All visits share the budget, and the bytes that
// other visits read are known only after each read.
func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		m.spent = true
		return 0, errLength
	}
	n, err := m.ReadCloser.Read(p[:min(int64(len(p)), m.left, portion)])
	m.left = m.turn.Received(int64(n))
	return n, err
}

// errSpent is the error of an answer that a meter has ended and that is useless in part.
var errSpent = errors.New("a budget of bytes is spent")

// endOf returns the error of an answer that was read into b. The parameter err is the error of
// reading. If a meter has ended the answer of a page, endOf marks the page as cut and returns nil.
// There are two exceptions, for which it returns errSpent: a cut robots.txt would lack rules, and
// a page without a byte would count as fetched. Both are requested again when the budgets allow
// it.
func (a *requestSpec) endOf(b *body, from io.Reader, status int, err error) error {
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

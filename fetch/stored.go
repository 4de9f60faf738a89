package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrStored is what an error of Stored wraps where the kept answer cannot be read: the
// page has to be asked for once more, without Validators.
var ErrStored = errors.New("fetch: the copy of a page cannot be read")

// Stored is the answer that x, the page of a Result with status 304, stands for: kept is
// the one that the copy at hand came with, its header brought up to date, and its body as
// it was sent. That is read to its end, decoded and cut as any other, and counts in
// Options.BodyBudget until x is released: x has no body of its own. The caller closes the
// body of kept.
//
// The error wraps ErrStored, or is that of ctx, or of a temporary file.
func (f *Fetcher) Stored(ctx context.Context, x *Exchange, kept *http.Response) (*Exchange, error) {
	b, err := f.readBody(kept, f.bodies, f.opts.MaxSize, f.opts.Lend, func(int) {})
	if err == nil && !b.cut {
		err = readOut(kept.Body, mostCoded(f.opts.MaxSize)) // its checksum stands behind it
	}
	if err == nil {
		err = b.settle(ctx, f)
	}
	if err != nil {
		b.free()
		if isSpool(err) || ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	x.Release()
	x.lent, x.share = b.lent, b.share
	stored := *x
	stored.Status, stored.Header, stored.Body, stored.Wire, stored.Truncated = kept.StatusCode, kept.Header, b.decoded, b.wire, ""
	stored.lent, stored.share = nil, share{}
	if b.cut {
		stored.Truncated = "length"
	}
	return &stored, nil
}

// readOut reads what is left of a body, of which there may be so many bytes.
func readOut(r io.Reader, most int64) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = errLength
	}
	return err
}

// Conditional reports whether the server was asked to send the page only if it has
// changed (RFC 9110, section 13.1).
func (x *Exchange) Conditional() bool {
	return x.RequestHeader.Get("If-None-Match") != "" || x.RequestHeader.Get("If-Modified-Since") != ""
}

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrStored is wrapped by an error of Stored if the stored answer cannot be read. The page must
// then be fetched again, without Validators.
var ErrStored = errors.New("fetch: the copy of a page cannot be read")

// Stored returns the stored page that x, an answer with status 304, confirms. The parameter kept
// is the stored answer: its header must be up to date, and its body must have its content coding.
//
// Stored reads the body to its end, decodes it, and cuts it at Options.MaxSize like the body of
// any answer. The memory of the stored body counts in Options.BodyBudget until x is released. The
// caller must close the body of kept. The error wraps ErrStored, or is the error of ctx or of a
// temporary file.
func (f *Fetcher) Stored(ctx context.Context, x *Exchange, kept *http.Response) (*Exchange, error) {
	b, err := f.readBody(kept, f.bodies, f.opts.MaxSize, f.opts.Lend, func(int) {})
	if err == nil && !b.cut {
		err = readOut(kept.Body, mostCoded(f.opts.MaxSize)) // read to the end, because only there the body may be checked against its checksum
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

// readOut reads and drops the rest of a body. It fails if the rest has more
// bytes than the parameter most.
func readOut(r io.Reader, most int64) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = errLength
	}
	return err
}

// Conditional reports whether x was a conditional request: the server should send the page only if
// it has changed (RFC 9110, section 13.1).
func (x *Exchange) Conditional() bool {
	return x.RequestHeader.Get("If-None-Match") != "" || x.RequestHeader.Get("If-Modified-Since") != ""
}

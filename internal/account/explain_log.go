package account

import (
	"bytes"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// maxTries is the largest number of lines about one URL that an Explanation has. Later lines
// are left out.
const maxTries = 1000

// A Try is a line of crawl.log about a URL. It is about one request, or says that the URL ended
// without a request.
type Try struct{ crawllog.Line }

// Request reports whether the line is about a request.
func (t Try) Request() bool { return !t.Start.IsZero() }

// fieldsBeforeURL is the number of fields of a line before its URL. The URL of the page with
// the link is in a later field.
const fieldsBeforeURL = 3

// tries returns the lines of the log about the URL of x.
func (a *Account) tries(x *Explanation) (all []Try, err error) {
	u := x.Asked
	if x.Known {
		u = x.URL // the URL in the form in which it was queued
	}
	text := " " + u.String() + " "
	err = scanLines(filepath.Join(a.dir, store.LogFile), a.quit, text, func(line []byte) bool {
		if len(bytes.Fields(line[:bytes.Index(line, []byte(text))])) != fieldsBeforeURL {
			return true
		}
		l, err := crawllog.Parse(string(line))
		if err != nil { // ignore the error, because the last line may be incomplete
			return true
		}
		if _, site := l.Annotation("queued"); !site {
			all = append(all, Try{*l})
		}
		return len(all) < maxTries
	})
	return all, err
}

package crawler

import (
	"io"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
)

// An OptOutList is a list of hosts and URLs that get no request, not even for robots.txt, by
// decision of the operator. It is never changed, and safe for concurrent use. The zero value is
// empty.
type OptOutList struct{ places places.List }

// ReadOptOutList reads a list. A line has a host or a URL. A host, such as example.org,
// includes all hosts below it, and every scheme and port. A URL, such as
// https://example.org/~joe/, includes all URLs of its site that begin with it. Text after a #
// at the beginning of a line or after a blank is a comment.
//
// The error lists each invalid line, with the given name and the number of the line. Invalid
// lines are not skipped, because the hosts and URLs that they mean would then get requests.
func ReadOptOutList(r io.Reader, name string) (*OptOutList, error) {
	l, err := places.Read(r, name)
	if err != nil {
		return nil, err
	}
	return &OptOutList{*l}, nil
}

// Why returns the line that forbids to request u, with the name of the list and the number of
// the line. If no line does, it returns "". Why can be used as Options.OptOut.
func (l *OptOutList) Why(u frontier.URL) string { return l.places.Why(u) }

// optedOut returns the result of Options.OptOut: why u must not be requested, or "". If OptOut
// panics, the error is a *PanicError, which ends the crawl.
func (o *Options) optedOut(u frontier.URL) (why string, err error) {
	if o.OptOut != nil {
		err = safely("OptOut", func() { why = o.OptOut(u) })
	}
	return why, err
}

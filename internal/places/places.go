// Package places reads lists of hosts and URLs, such as the opt-out list.
package places

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// A List has hosts and URLs that the operator has excluded: they get no request, not even for
// robots.txt. It is immutable, and so safe for concurrent use. The zero value is empty.
type List struct {
	entries  []Entry
	hosts    map[string]listLine          // lines with a host, by the host
	prefixes map[frontier.Site][]listPath // lines with a URL, by the site of the URL
}

// A listLine is a line of a List: its host or URL, and the text that names the line in
// messages.
type listLine struct{ place, where string }

type listPath struct {
	key string
	listLine
}

// An Entry is a line of a List that has a host or a URL.
type Entry struct {
	Place   string // a host, or a URL in the form of frontier.URL.String
	Comment string // text of the line after the #
	Line    int    // number of the line, from 1
}

// Entries returns the lines that have a host or a URL, in their order.
func (l *List) Entries() []Entry { return slices.Clone(l.entries) }

// Has reports whether a line of the list has exactly this host or URL, in the form of
// Entry.Place. It returns false for a host or URL that is only below one in the list; Why finds
// these, too.
func (l *List) Has(place string) bool {
	return slices.ContainsFunc(l.entries, func(e Entry) bool { return e.Place == place })
}

// maxLine is the largest length of a line, in bytes.
const maxLine = 64 << 10

// Read reads a list. Each line has a host or a URL. A host, such as example.org, includes all
// hosts below it, with every scheme and port. A URL, such as https://example.org/~joe/,
// includes all URLs of its site that begin with it. Text after a #, at the beginning of a line
// or after a blank, is a comment.
//
// If lines are invalid, Read returns an error that lists them all, with name and the number of
// the line. It does not skip them, because the hosts and URLs that they mean would then get
// requests.
func Read(r io.Reader, name string) (*List, error) {
	l := &List{hosts: map[string]listLine{}, prefixes: map[frontier.Site][]listPath{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var problems []error
	n := 0
	for lines.Scan() {
		n++
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		place, comment, u, err := parse(text)
		switch told := fmt.Sprintf("%s:%d: %s", name, n, place); {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s:%d: %w", name, n, err))
		case place == "":
		case u.IsZero():
			l.entries = append(l.entries, Entry{place, comment, n})
			l.hosts[place] = listLine{place, told}
		default:
			l.entries = append(l.entries, Entry{u.String(), comment, n})
			l.prefixes[u.Site()] = append(l.prefixes[u.Site()], listPath{u.Key(), listLine{u.String(), told}})
		}
	}
	if err := lines.Err(); err != nil {
		problems = append(problems, fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return l, nil
}

// parse parses a line. place is the host or URL as the line has it, or "" if the line has
// neither. u is set only if place is a URL.
func parse(line string) (place, comment string, u frontier.URL, err error) {
	text := strings.TrimSpace(line)
	if i := strings.IndexByte(text, '#'); i == 0 || i > 0 && strings.ContainsRune(" \t", rune(text[i-1])) {
		text, comment = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
	}
	switch {
	case text == "":
		return "", "", u, nil
	case strings.ContainsAny(text, " \t"):
		return "", "", u, fmt.Errorf("%q is more than one place: write each on a line of its own, and # before a comment", text)
	case strings.Contains(text, "://"):
		u, err = frontier.ParseURL(text)
		return text, comment, u, err
	}
	if place = Host(text); place == "" {
		err = fmt.Errorf("%q is neither a host, such as example.org, nor a URL, such as https://example.org/: a host includes all hosts below it and all ports", text)
	}
	return place, comment, u, err
}

// Host returns the host name or the IP address in text, in the form of URL.Host. It returns
// "" if text is neither.
func Host(text string) string {
	text = strings.Trim(text, ".")
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil && addr.Is6() {
		text = "[" + addr.String() + "]"
	} else if strings.ContainsAny(text, "/\\?*@:[]") {
		return ""
	}
	u, err := frontier.ParseURL("http://" + text + "/")
	if err != nil || u.Target() != "/" {
		return ""
	}
	return strings.TrimSuffix(u.Host(), ".")
}

// Why returns the line that excludes u, with the name of the list and the number of the line.
// It returns "" if no line does.
func (l *List) Why(u frontier.URL) string { return l.find(u).where }

// Place returns the host or URL of the line that includes u, in the form of Entry.Place. It
// returns "" if no line does.
func (l *List) Place(u frontier.URL) string { return l.find(u).place }

// find returns the line that includes u. It returns the zero listLine if no line does.
func (l *List) find(u frontier.URL) (none listLine) {
	if u.IsZero() {
		return none
	}
	host := strings.TrimSuffix(u.Host(), ".")
	for name := host; len(l.hosts) > 0 && name != ""; {
		if line, ok := l.hosts[name]; ok {
			return line
		}
		_, name, _ = strings.Cut(name, ".")
	}
	if paths := l.prefixes[u.Site()]; paths != nil {
		key := u.Key()
		for _, p := range paths {
			if strings.HasPrefix(key, p.key) {
				return p.listLine
			}
		}
	}
	return none
}

// Len returns the number of hosts and URLs in the list.
func (l *List) Len() int {
	n := len(l.hosts)
	for _, paths := range l.prefixes {
		n += len(paths)
	}
	return n
}

package corpus

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/zeebo/xxh3"
)

// The limits of the names of files, in bytes. They are low, because Windows allows only 260
// characters for a whole path.
const (
	maxName = 80  // longest element of a path
	maxPath = 180 // longest path, without the tree's directory
)

// A names makes the paths of the documents' files. No two documents get the same path.
type names struct{ taken map[uint64]bool } // hashes of the paths that are in use, in lower case; about 16 bytes each

// of returns the path of the file of a row, with slashes: the snapshot of a series, the host,
// and the elements of the path of the URL. The file has the name of the page and the extension
// .md. If the path of the URL ends with a slash, the file is index.md. If a name had to be
// changed or shortened, or is in use, a hash of the URL is added. Names that differ only in
// case count as the same, because many file systems ignore case.
func (n *names) of(r *export.Row) string {
	if n.taken == nil {
		n.taken = map[uint64]bool{}
	}
	_, rest, _ := strings.Cut(r.URL, "://")
	place, query, hasQuery := strings.Cut(rest, "?")
	elements := strings.Split(place, "/")
	last := len(elements) - 1
	if last == 0 || elements[last] == "" {
		elements = append(elements[:max(last, 1)], "index")
		last = len(elements) - 1
	}
	changed := hasQuery
	for i, e := range elements {
		var altered bool
		elements[i], altered = safeName(e)
		lower := strings.ToLower(elements[i])
		if 0 < i && i < last && strings.HasSuffix(lower, ".md") || i == 0 && lower == IndexFile { // add a hash to the file's name, because a directory of the tree may have the same name
			elements[i], altered = elements[i]+"_", true
		}
		changed = changed || altered
	}
	if query != "" {
		if q, _ := safeName(query); len(elements[last])+len(q) < maxName {
			elements[last] += "_" + q
		}
	}
	name := strings.Join(elements, "/")
	if !r.Snapshot.IsZero() {
		name = r.Snapshot.UTC().Format("20060102T150405Z") + "/" + name
	}
	if len(name) > maxPath {
		first, _, _ := strings.Cut(name, "/")
		name, changed = first+"/long/"+elements[last], true
	}
	sum := xxh3.HashString(r.URL)
	if changed {
		name += fmt.Sprintf("~%08x", uint32(sum))
	}
	if n.take(name) {
		return name + ".md"
	}
	for i := 0; ; i++ {
		other := fmt.Sprintf("%s~%016x", name, xxh3.HashString(fmt.Sprint(r.URL, r.Time.UnixMicro(), r.Snapshot.Unix(), i)))
		if n.take(other) {
			return other + ".md"
		}
	}
}

// take marks a name as used. It returns false if the name was in use.
func (n *names) take(name string) bool {
	key := xxh3.HashString(strings.ToLower(name))
	if n.taken[key] {
		return false
	}
	n.taken[key] = true
	return true
}

// safeName returns an element of a URL as a name that every file system accepts and that has no
// special meaning. changed reports whether the name differs from the element.
func safeName(e string) (name string, changed bool) {
	var b strings.Builder
	for _, r := range e {
		if r == utf8.RuneError || r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+=@,~", r) {
			r, changed = '_', true
		}
		b.WriteRune(r)
	}
	name = b.String()
	if name == "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "~") || isDevice(name) {
		name, changed = "_"+name, true
	}
	if len(name) > maxName {
		name, changed = name[:maxName], true
	}
	if trimmed := strings.TrimRight(name, "."); trimmed != name {
		name, changed = trimmed+"_", true
	}
	return name, changed
}

// isDevice reports whether name is the name of a device on Windows, with any extension.
func isDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToUpper(name), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")) && name[3] >= '0' && name[3] <= '9'
}

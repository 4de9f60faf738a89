package frontier

import "strings"

// A Resolver reads the references of one document as URL.ResolveQuery does, and writes
// the URLs that it makes of them side by side, so that a page with many links costs few
// pieces of memory. Who keeps one of them for long keeps those beside it, too, 4 KiB at
// most: URL.Clone is alone. It is for one goroutine, and must not be copied once it
// has resolved anything.
type Resolver struct {
	base   URL
	path   int // length of base without its query
	folder int // of its site and directory
	texts  texts
}

// Resolver is one for a document at u, or at that base.
func (u URL) Resolver() Resolver {
	path, _, _ := strings.Cut(u.text, "?")
	return Resolver{base: u, path: len(path), folder: strings.LastIndexByte(path, '/') + 1}
}

// Expect makes room for what ref will be: for all that were expected at once. It is no
// more than a guess, and what was not expected is resolved all the same.
func (r *Resolver) Expect(ref []byte) {
	n := len(ref)
	switch {
	case n == 0 || ref[0] == '#':
		return
	case ref[0] == '/':
		n += r.base.site
	case ref[0] == '?':
		n += r.path
	case n < len("http") || string(ref[:len("http")]) != "http":
		n += r.folder
	}
	r.texts.expected += n
}

// Resolve is URL.ResolveQuery of the document; ref may be written over afterwards.
func (r *Resolver) Resolve(ref []byte, encode func(query string) string) (URL, error) {
	if r.base.IsZero() {
		return ParseURL(string(ref))
	}
	u := r.base
	keep, rest, ok := resolvePlain(u, ref)
	switch {
	case !ok:
		return u.resolve(string(ref), encode, &r.texts)
	case keep == len(u.text) && len(rest) == 0:
		return u, nil
	}
	return URL{r.texts.append(u.text[:keep], rest), u.site}, nil
}

// texts are strings that are written behind each other, piece by piece of memory.
type texts struct {
	piece    strings.Builder
	expected int // bytes that are still to be written
}

// maxPiece bounds what a string that is kept keeps of others.
const maxPiece = 4 << 10

// room makes room for a string; false where it is so long that it is to stand alone.
func (t *texts) room(n int) bool {
	if n > maxPiece/4 {
		return false
	}
	if t.piece.Cap()-t.piece.Len() < n {
		t.piece.Reset()
		t.piece.Grow(max(n, min(t.expected, maxPiece)))
	}
	t.expected -= n
	return true
}

func (t *texts) append(head string, tail []byte) string {
	if !t.room(len(head) + len(tail)) {
		return head + string(tail)
	}
	start := t.piece.Len()
	t.piece.WriteString(head)
	t.piece.Write(tail)
	return t.piece.String()[start:]
}

// join is one string of its parts; of nil it stands alone.
func (t *texts) join(parts ...string) string {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	var alone strings.Builder
	to := &alone
	if t != nil && t.room(n) {
		to = &t.piece
	} else {
		alone.Grow(n)
	}
	start := to.Len()
	for _, p := range parts {
		to.WriteString(p)
	}
	return to.String()[start:]
}

// resolvePlain is resolve of a reference that only has to be appended, as most
// are: to the site of u, its directory or its path, the first keep bytes of u. It reads
// ref once.
func resolvePlain[T []byte | string](u URL, ref T) (keep int, rest T, ok bool) {
	own := len(ref) > u.site && string(ref[:u.site]) == u.text[:u.site] && ref[u.site] == '/'
	if own {
		ref = ref[u.site:]
	} else if len(ref) >= 2 && ref[0] == '/' && ref[1] == '/' {
		return 0, rest, false
	}
	end, query := len(ref), -1
	rooted := false // a slash was seen: a colon ends no scheme
scan:
	for i := 0; i < len(ref); i++ {
		switch refBytes[ref[i]] {
		case plain:
		case slash:
			rooted = true
		case segment:
			if query < 0 && (i == 0 || ref[i-1] == '/') {
				return 0, rest, false
			}
		case colon:
			if query < 0 && !rooted {
				return 0, rest, false
			}
		case question:
			if query < 0 {
				query = i
			}
		case hash:
			end = i
			break scan
		default:
			return 0, rest, false
		}
	}
	keep = u.site
	switch {
	case own || end > 0 && ref[0] == '/':
	case end == 0:
		return len(u.text), rest, true
	default:
		keep = len(u.text)
		if i := strings.IndexByte(u.text[u.site:], '?'); i >= 0 {
			keep = u.site + i
		}
		if query != 0 {
			keep = strings.LastIndexByte(u.text[:keep], '/') + 1
		}
	}
	if keep+end > MaxURL {
		return 0, rest, false
	}
	return keep, ref[:end], true
}

// What a byte of a reference means to resolvePlain.
const (
	plain    = iota
	slash    // separates segments
	segment  // at the start of a segment it may be a dot segment
	colon    // may end a scheme
	question // begins the query
	hash     // begins the fragment
	other    // is not sent as it stands, or is more than one of these
)

var refBytes = func() (kinds [256]uint8) {
	for i := range kinds {
		if pathEscaped[i] || queryEscaped[i] || i == '\\' {
			kinds[i] = other
		}
	}
	kinds['/'], kinds['.'], kinds['%'], kinds[':'], kinds['?'], kinds['#'] = slash, segment, segment, colon, question, hash
	return kinds
}()

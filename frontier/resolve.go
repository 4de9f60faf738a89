package frontier

import "strings"

// A Resolver resolves the references of one document like URL.ResolveQuery. It stores the
// resulting URLs in shared pieces of memory, so that a page with many links needs few allocations.
// A URL that the caller keeps also keeps its piece, at most 4 KiB, in memory. URL.Clone returns a
// copy in memory of its own. A Resolver is for one goroutine, and must not be copied after its
// first Resolve.
type Resolver struct {
	base   URL
	path   int // length of base without its query
	folder int // length of the part of base up to the last slash of the path
	texts  texts
}

// Resolver returns a Resolver for a document whose URL, or base URL, is u.
func (u URL) Resolver() Resolver {
	path, _, _ := strings.Cut(u.text, "?")
	return Resolver{base: u, path: len(path), folder: strings.LastIndexByte(path, '/') + 1}
}

// Expect reserves memory for the result of a later Resolve of ref. The size is a guess. Resolve
// also works without Expect.
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

// Resolve returns the same as URL.ResolveQuery for the document of r. It does not retain ref.
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

// texts stores strings back to back in pieces of memory.
type texts struct {
	piece    strings.Builder
	expected int // bytes that Expect has announced and join has not written yet
}

// maxPiece is the size of a piece of texts, in bytes. A string that is kept keeps its whole
// piece in memory.
const maxPiece = 4 << 10

// room makes room for a string of n bytes in the current piece, or in a new one. It returns
// false if the string is so long that it needs memory of its own.
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

// join returns the concatenation of parts, stored in t. If t is nil, the result has memory of
// its own.
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

// resolvePlain resolves a reference whose text only has to be appended to a part of u: its site,
// its directory or its path. Most references are of this kind. The result consists of the first
// keep bytes of u, followed by rest. For other references ok is false. resolvePlain reads ref
// once.
func resolvePlain[T []byte | string](u URL, ref T) (keep int, rest T, ok bool) {
	own := len(ref) > u.site && string(ref[:u.site]) == u.text[:u.site] && ref[u.site] == '/'
	if own {
		ref = ref[u.site:]
	} else if len(ref) >= 2 && ref[0] == '/' && ref[1] == '/' {
		return 0, rest, false
	}
	end, query := len(ref), -1
	rooted := false // a slash was seen, so a later colon does not end a scheme
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
	if keep+end > maxURL {
		return 0, rest, false
	}
	return keep, ref[:end], true
}

// The classes of the bytes of a reference. resolvePlain uses them.
const (
	plain    = iota
	slash    // separates segments
	segment  // a dot; at the start of a segment it may begin "." or ".."
	colon    // may end a scheme
	question // begins the query
	hash     // begins the fragment
	other    // any byte that must be escaped or replaced, or has several of these meanings
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

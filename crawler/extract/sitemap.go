package extract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
)

// Limits of one sitemap (sitemaps.org, "Sitemap file location and size"): the number of its URLs,
// its bytes after decompression, and the characters of a URL. A URL must have fewer characters than
// its limit.
const (
	maxSitemapURLs      = 50_000
	maxSitemapBytes     = 50 << 20
	maxSitemapURLLength = 2_048
)

// maxSitemapLinkBytes is the maximum total number of bytes of the URLs of one sitemap in a
// Document.
const maxSitemapLinkBytes = 8 << 20

// maxExtras is the maximum number of alternates of one entry of a sitemap, and of its embeds.
const maxExtras = 1_000

// Errors that a *sitemapError wraps.
var (
	errNotSitemap       = errors.New("this is no sitemap: want XML with urlset or sitemapindex, a feed, or one URL a line")
	errSitemapURLs      = fmt.Errorf("it names more than %d locations: split it, and name the parts in a sitemap index", maxSitemapURLs)
	errSitemapBytes     = fmt.Errorf("it has more than %d bytes uncompressed: split it, and name the parts in a sitemap index", maxSitemapBytes)
	errSitemapURLLength = fmt.Errorf("locations of %d or more characters were left out: shorten them", maxSitemapURLLength)
)

// A sitemapError is the reason why a sitemap was not read completely.
type sitemapError struct {
	URL     frontier.URL // URL of the sitemap
	Entries int          // number of entries before the error
	// A mistake in the sitemap, an error of the reader or of gzip, or io.ErrUnexpectedEOF if the
	// end of the sitemap is missing.
	Err error
}

func (e *sitemapError) Error() string {
	return fmt.Sprintf("sitemap %s, after %d entries: %v", e.URL, e.Entries, e.Err)
}

func (e *sitemapError) Unwrap() error { return e.Err }

// A SitemapEntry is an entry of a sitemap, for one URL. It has at most the first 1,000 alternates
// and the first 1,000 embeds.
type SitemapEntry struct {
	URL     frontier.URL
	Index   bool      // the URL is that of another sitemap
	LastMod time.Time // zero if it is missing or malformed
	// "always", "hourly", "daily", "weekly", "monthly", "yearly", "never", or "" if missing
	ChangeFreq string
	Priority   float64 // from 0 to 1; 0.5 if it is missing or malformed
	// Links of xhtml:link to the page in other languages (Link.Lang) or for other devices.
	Alternates []Link
	Embeds     []Link // images of the page, and files, players and thumbnails of its videos

	where string
}

// Sitemap parses the sitemap in r, which was fetched from u. A sitemap is XML, text with one URL on
// each line, or RSS or Atom with items for the URLs (sitemaps.org, "Other Sitemap formats"). It may
// be compressed with gzip, which is recognized by its first bytes. A byte order mark or an XML
// declaration determines its encoding. Without them the encoding is UTF-8.
//
// Entries are yielded in their order while r is read. An error is yielded last; the entries before
// it are valid. A malformed date or priority is not an error. A URL that cannot be crawled is left
// out, and is not an error either. URLs may be on any site. The caller must check whether the
// sitemap may list them: by the protocol a sitemap may list only URLs below its own directory,
// unless a robots.txt names the sitemap.
func Sitemap(r io.Reader, u frontier.URL) iter.Seq2[SitemapEntry, error] {
	return func(yield func(SitemapEntry, error) bool) {
		s := sitemap{u: u, yield: yield}
		in, err := unzip(r)
		if err != nil {
			s.fail(err)
			return
		}
		s.read(toUTF8(in))
	}
}

// A sitemap is the state of the parser for one sitemap.
type sitemap struct {
	u       frontier.URL
	x       *xmlScanner
	yield   func(SitemapEntry, error) bool
	count   int
	stopped bool
	tooLong bool // a URL was too long

	entry SitemapEntry
	begun bool
	index bool   // the document is a sitemap index
	feed  bool   // the document is RSS or Atom, in which URLs may be relative
	root  string // name of the root element
	// The element of an extension that is open: "image", "video", "news" or "".
	extension string
	textOf    string // name of the element whose text is being collected; "" if none exists
}

// read parses a sitemap in UTF-8.
func (s *sitemap) read(in *bufio.Reader) {
	var err error
	switch firstByte(in) {
	case '<':
		err = s.xml(in)
	case 0:
		_, err = in.Peek(1)
	default:
		err = s.lines(in)
	}
	if err == nil && s.tooLong {
		err = errSitemapURLLength
	}
	if errors.Is(err, io.EOF) {
		err = errNotSitemap
	}
	if err != nil {
		s.fail(err)
	}
}

// firstByte skips white space and returns the byte after it without reading it. It returns 0 at the
// end of the input.
func firstByte(in *bufio.Reader) byte {
	for {
		head, err := in.Peek(1)
		switch {
		case err != nil:
			return 0
		case !isBlank(head[0]):
			return head[0]
		}
		in.Discard(1)
	}
}

func (s *sitemap) fail(err error) {
	if !s.stopped {
		s.stopped = true
		s.yield(SitemapEntry{}, &sitemapError{URL: s.u, Entries: s.count, Err: err})
	}
}

// lines reads text with one URL on each line. It ignores lines that are not URLs, but at least
// one line must be a URL.
func (s *sitemap) lines(in *bufio.Reader) error {
	for !s.stopped {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.tooLong = true
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			line = nil
		}
		for raw := range strings.SplitSeq(string(line), "\r") {
			if raw = strings.Trim(raw, blanks); raw != "" {
				s.begin(false)
				s.entry.where = "text/line"
				if u, err := frontier.ParseURL(raw); err == nil && s.short(raw) {
					s.entry.URL = u
				}
				s.finish()
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) && (s.count > 0 || s.tooLong) {
				err = nil
			}
			return err
		}
	}
	return nil
}

// xml reads a sitemap in XML, RSS or Atom. The root element determines which one it is.
func (s *sitemap) xml(in *bufio.Reader) error {
	s.x = newXMLScanner(in, s.u)
	if s.x.next() != xmlStart {
		return errors.Join(errNotSitemap, s.x.err)
	}
	root, closed := s.x.name, false
	s.root = root
	each := s.tag
	switch root {
	case "sitemapindex":
		s.index = true
	case "urlset":
	case "rss", "feed", "rdf":
		each, s.feed = s.feedTag, true
	default:
		return fmt.Errorf("%w; its root is %.40q", errNotSitemap, root)
	}
	for !s.stopped {
		token := s.x.next()
		s.handleText()
		if token == xmlEOF {
			break
		}
		closed = closed || token == xmlEnd && s.x.name == root
		each(token)
	}
	s.finish()
	switch {
	case s.x.err != nil:
		return s.x.err
	case !closed && !s.stopped:
		return fmt.Errorf("it ends without </%s>: %w", root, io.ErrUnexpectedEOF)
	}
	return nil
}

// tag processes a tag of a sitemap in XML.
func (s *sitemap) tag(token xmlToken) {
	name := s.x.name
	switch name {
	case "url", "sitemap":
		s.finish()
		if token == xmlStart {
			s.begin(s.index || name == "sitemap")
		}
		return
	case "image", "video", "news":
		if s.extension = name; token == xmlEnd {
			s.extension = ""
		}
		return
	}
	if token != xmlStart {
		return
	}
	switch name {
	case "loc":
		if !s.begun {
			s.begin(s.index)
		}
		s.collect(name)
	case "lastmod", "changefreq", "priority", "content_loc", "player_loc", "thumbnail_loc":
		s.collect(name)
	case "link":
		if rel := s.x.attr("rel"); strings.EqualFold(rel, "alternate") || strings.EqualFold(rel, "amphtml") {
			lang := langOf(s.x.attr("hreflang"))
			s.more(&s.entry.Alternates, s.x.attr("href"), Link{Hop: frontier.HopLink, Where: "xhtml:link/href", Rel: rel, said: lang, lang: uint8(len(lang))})
		}
	}
}

// feedTag processes a tag of a sitemap in RSS or Atom.
func (s *sitemap) feedTag(token xmlToken) {
	name := s.x.name
	switch name {
	case "item", "entry":
		s.finish()
		if token == xmlStart {
			s.begin(false)
		}
		return
	}
	if token != xmlStart || !s.begun {
		return
	}
	switch name {
	case "link":
		if rel := s.x.attr("rel"); s.x.attr("href") == "" {
			s.collect(name)
		} else if rel == "" || strings.EqualFold(rel, "alternate") {
			s.locate(s.x.attr("href"), "link")
		}
	case "guid":
		if !strings.EqualFold(s.x.attr("ispermalink"), "false") {
			s.collect(name)
		}
	case "pubdate", "date", "updated", "modified":
		s.collect(name)
	case "description", "content", "encoded", "summary", "source":
		s.x.skip("item", "entry", "channel", "feed", "rss", "rdf")
	}
}

func (s *sitemap) collect(name string) {
	s.textOf = name
	s.x.collect()
}

// handleText processes the text of the element s.textOf, which has ended.
func (s *sitemap) handleText() {
	if s.textOf == "" {
		return
	}
	of := s.textOf
	s.textOf = ""
	text, whole := s.x.collected()
	if !whole {
		s.tooLong = s.tooLong || of == "loc" || of == "link"
		return
	}
	if s.x.eof {
		return // the end of the text may be missing
	}
	e := &s.entry
	switch of {
	case "loc":
		if s.extension == "image" {
			s.more(&e.Embeds, text, Link{Hop: frontier.HopEmbed, Where: "image:loc"})
		} else if s.extension == "" {
			s.locate(text, "loc")
		}
	case "content_loc", "player_loc", "thumbnail_loc":
		s.more(&e.Embeds, text, Link{Hop: frontier.HopEmbed, Where: "video:" + of})
	case "link", "guid":
		s.locate(text, of)
	case "lastmod", "updated", "modified":
		e.LastMod = parseDate(text)
	case "pubdate", "date":
		if e.LastMod.IsZero() {
			e.LastMod = parseDate(text)
		}
	case "changefreq":
		switch f := strings.ToLower(text); f {
		case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
			e.ChangeFreq = f
		}
	case "priority":
		if p, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64); err == nil && p >= 0 && p <= 1 {
			e.Priority = p
		}
	}
}

// locate sets the URL of the current entry to raw, unless the entry already has a URL.
func (s *sitemap) locate(raw, where string) {
	if !s.entry.URL.IsZero() || raw == "" || !s.short(raw) {
		return
	}
	if u, err := s.resolve(raw); err == nil {
		s.entry.URL, s.entry.where = u, s.root+"/"+where
	}
}

// resolve parses a URL. In a feed it may be relative. In other sitemaps it may begin with a slash,
// which the protocol does not allow. Other relative values are refused, because they are often just
// words.
func (s *sitemap) resolve(raw string) (frontier.URL, error) {
	if s.feed || strings.HasPrefix(raw, "/") {
		return s.x.base().Resolve(raw)
	}
	return frontier.ParseURL(raw)
}

func (s *sitemap) short(raw string) bool {
	if utf8.RuneCountInString(raw) < maxSitemapURLLength {
		return true
	}
	s.tooLong = true
	return false
}

// more resolves raw, and appends the link l with this URL to *to, the alternates or the embeds of
// the current entry.
func (s *sitemap) more(to *[]Link, raw string, l Link) {
	if !s.begun || raw == "" || len(*to) == maxExtras || !s.short(raw) {
		return
	}
	if u, err := s.resolve(raw); err == nil {
		l.URL = u
		*to = append(*to, l)
	}
}

func (s *sitemap) begin(index bool) {
	s.begun = true
	s.entry = SitemapEntry{Index: index, Priority: 0.5}
}

// finish yields the current entry, if it has a URL.
func (s *sitemap) finish() {
	begun := s.begun
	s.begun, s.extension = false, ""
	if !begun || s.entry.URL.IsZero() || s.stopped {
		return
	}
	if s.count == maxSitemapURLs {
		s.fail(errSitemapURLs)
		return
	}
	s.count++
	s.stopped = !s.yield(s.entry, nil)
}

// parseDate parses a date in the forms of the W3C note "Date and Time Formats", in the forms of RSS
// (RFC 822, section 5), and in common variants. It returns the zero time for other texts.
func parseDate(raw string) time.Time {
	text := strings.ToUpper(raw)
	if day, hours, ok := strings.Cut(text, " "); ok {
		text = day + "T" + strings.ReplaceAll(hours, " ", "")
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "UTC"), "GMT")
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01", "2006",
		"2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-1-2", "2006-1-2T15:04:05", "20060102",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	if t, err := mail.ParseDate(raw); err == nil {
		return t
	}
	return time.Time{}
}

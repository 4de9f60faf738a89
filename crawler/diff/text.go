package diff

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"unicode"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxBody is the largest body whose text is compared, in bytes.
const maxBody = 32 << 20

// sameText says whether readers see the same text in the pages of both crawls: by the
// digests that pages.jsonl has, or else by what is archived.
func (c *comparison) sameText(u frontier.URL, p *pair) (TextState, error) {
	if p.was.Text != "" && p.is.Text != "" {
		c.Texts.Compared++
		return textState(p.was.Text == p.is.Text), nil
	}
	state, err := c.readTexts(u, &p.was, u, &p.is)
	if state == TextUnknown {
		c.Texts.Unknown++
	} else if state != "" {
		c.Texts.Compared++
	}
	return state, err
}

func textState(same bool) TextState {
	if same {
		return TextSame
	}
	return TextDiffers
}

// readTexts compares the texts of two archived answers, of which the first is of the crawl
// before.
func (c *comparison) readTexts(a frontier.URL, was *view, b frontier.URL, is *view) (TextState, error) {
	if c.NoText || !was.Archived || !is.Archived {
		return TextUnknown, nil
	}
	first, ok, err := c.was.text(a)
	if err != nil || !ok {
		return TextUnknown, err
	}
	second, ok, err := c.is.text(b)
	if err != nil || !ok {
		return TextUnknown, err
	}
	return textState(first == second), nil
}

// answer is what is archived of the last answer to u; nil where that cannot be had: the
// record is damaged, its file was moved away, or its body stands in another crawl.
func (s *snapshot) answer(u frontier.URL) (*http.Response, error) {
	resp, err := s.account.Answer(u)
	var bad *warc.Error
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(err, crawler.ErrNoBody), errors.Is(err, os.ErrNotExist), errors.As(err, &bad), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil
	}
	return nil, err
}

// text is the digest of what readers see in the archived answer to u. ok is false where
// that is not known: it is neither a page nor a text, or it cannot be read.
func (s *snapshot) text(u frontier.URL) (digest [sha256.Size]byte, ok bool, err error) {
	resp, err := s.answer(u)
	if resp == nil || err != nil {
		return digest, false, err
	}
	defer resp.Body.Close()
	sent := resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(sent)
	if err != nil || !extract.IsHTML(kind) && kind != "text/plain" {
		return digest, false, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return digest, false, nil // what was cut, or spoiled, says nothing
	}
	body, _ = extract.Decode(body, sent)
	if kind != "text/plain" {
		body = visible(body)
	}
	return sha256.Sum256(folded(body)), true, nil
}

// hidden are the elements whose content no reader sees.
var hidden = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Iframe: true, atom.Noembed: true, atom.Noframes: true,
}

// inline are the elements that stand within a word, or beside one without a blank.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true, atom.Code: true,
	atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Label: true,
	atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strike: true, atom.Strong: true,
	atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

// visible is the text of a page: its title, and what stands between its tags.
func visible(body []byte) []byte {
	in := html.NewTokenizer(bytes.NewReader(body))
	var text []byte
	within := 0 // elements that are hidden
	for {
		switch kind := in.Next(); kind {
		case html.ErrorToken:
			return text
		case html.TextToken:
			if within == 0 {
				text = append(text, in.Text()...)
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := in.TagName()
			tag := atom.Lookup(name)
			if !inline[tag] {
				text = append(text, ' ')
			}
			switch {
			case !hidden[tag]:
			case kind == html.StartTagToken:
				within++
			case kind == html.EndTagToken:
				within = max(0, within-1)
			}
		}
	}
}

// folded is text in which any blanks are one, with none at its ends.
func folded(text []byte) []byte {
	out := text[:0]
	blank := false
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case unicode.IsSpace(r):
			blank = true
		default:
			if blank && len(out) > 0 {
				out = append(out, ' ')
			}
			blank = false
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

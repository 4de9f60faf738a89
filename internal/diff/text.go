package diff

import (
	"errors"
	"io"
	"net/http"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// maxBody is the size of the largest body whose text is compared, in bytes.
const maxBody = 32 << 20

// sameText compares the visible texts of a URL's pages in both crawls.
func (c *comparison) sameText(u frontier.URL, p *pair) (TextState, error) {
	state, err := c.texts(u, &p.was, u, &p.is)
	if state == TextUnknown {
		c.Texts.Unknown++
	} else {
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

// texts compares the visible text of a in the earlier crawl with the visible text of b in the
// later crawl. It uses the digests in pages.jsonl, or else the archives.
func (c *comparison) texts(a frontier.URL, was *view, b frontier.URL, is *view) (TextState, error) {
	first, err := c.text(c.was, a, was)
	if err != nil || first == "" {
		return TextUnknown, err
	}
	second, err := c.text(c.is, b, is)
	if err != nil || second == "" {
		return TextUnknown, err
	}
	return textState(first == second), nil
}

// text returns the digest of the visible text in the answer to u in the crawl s, or "" if it is
// not known. v has the facts of the crawl about u.
func (c *comparison) text(s *snapshot, u frontier.URL, v *view) (string, error) {
	if v.Text != "" || c.NoText || !v.Archived {
		return v.Text, nil
	}
	return s.text(u)
}

// answer returns the last archived answer to u. It returns nil if the answer is not available,
// because its record is damaged, its WARC file was moved away, or the crawl with its body is
// missing. It fails only if the state is damaged.
func (s *snapshot) answer(u frontier.URL) (*http.Response, error) {
	resp, err := s.account.Answer(u)
	var damaged *store.DamagedError
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &damaged), errors.Is(err, store.ErrClosed):
		return nil, err
	}
	return nil, nil
}

// text returns the digest of the visible text in the archived answer to u. It returns "" if the
// answer is neither a page nor a text, or cannot be read.
func (s *snapshot) text(u frontier.URL) (string, error) {
	resp, err := s.answer(u)
	if resp == nil || err != nil {
		return "", err
	}
	defer resp.Body.Close()
	sent := fetch.ParseMediaType(resp.Header["Content-Type"])
	if !extract.IsHTML(sent.Type) && sent.Type != "text/plain" {
		return "", nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return "", nil // do not compare an incomplete or damaged body
	}
	body, _ = extract.Decode(body, sent.String())
	return extract.TextDigest(body, sent.Type), nil
}

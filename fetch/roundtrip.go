package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/permesso-crawler/permesso/frontier"
)

// RoundTrip makes one polite request and follows no redirect. With it, a Client can be the
// transport of an http.Client in an existing program:
//
//	reader := http.Client{Transport: client}
//
// It implements http.RoundTripper for GET and HEAD without a body. The fields of req.Header are
// sent in the request for the page, but not in one for robots.txt. The Client itself sets
// User-Agent, From and Accept-Encoding. Fields that concern the connection (RFC 9110, section
// 7.6.1) are ignored. The body of the answer is decoded and in memory. If it is not complete,
// reading its end returns an error. The errors are those of Get.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // http.RoundTripper demands it
	}
	switch {
	case req.URL == nil:
		return nil, errors.New("fetch: the request has no URL")
	case req.Method != "" && req.Method != http.MethodGet && req.Method != http.MethodHead:
		return nil, fmt.Errorf("fetch: %s %s: a Client makes only requests with GET and HEAD", req.Method, req.URL)
	case req.Body != nil && req.Body != http.NoBody:
		return nil, fmt.Errorf("fetch: %s: a Client makes no requests with a body", req.URL)
	case req.Host != "" && req.Host != req.URL.Host:
		return nil, fmt.Errorf("fetch: %s: the request is for another host, %q", req.URL, req.Host)
	}
	for name, values := range req.Header {
		if err := checkField(name, values); err != nil {
			return nil, fmt.Errorf("fetch: %s: %w", req.URL, err)
		}
	}
	u, err := frontier.ParseURL(req.URL.String())
	if err != nil {
		return nil, err
	}
	own := req.Header.Clone() // a copy, because the request may continue after RoundTrip has returned
	resp, err := c.do(req.Context(), u, req.Method == http.MethodHead, func(usual http.Header) http.Header { return withFields(usual, own) })
	if err != nil {
		return nil, err
	}
	return resp.response(req), nil
}

// withFields returns a copy of usual with the fields of h that a caller may set.
func withFields(usual, h http.Header) http.Header {
	all := usual.Clone()
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		switch why := ownFields[name]; {
		case why == perConnection, why == noContent, name == "Host", name == "User-Agent", name == "From", name == "Accept-Encoding", name == "Proxy-Authorization":
		default:
			all[name] = values
		}
	}
	return all
}

// response returns r in the form of net/http.
func (r *Response) response(req *http.Request) *http.Response {
	resp := &http.Response{
		Status: fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)), StatusCode: r.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.Header.Clone(), ContentLength: int64(len(r.Body)), Request: req,
	}
	if r.Proto == "h2" {
		resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/2.0", 2, 0
	}
	if r.Head {
		resp.ContentLength, resp.Body = -1, http.NoBody
		if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			resp.ContentLength = n
		}
		return resp
	}
	if resp.Header.Get("Content-Encoding") != "" {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.Uncompressed = true
	}
	body := io.Reader(bytes.NewReader(r.Body))
	if r.Truncated != "" {
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
		body = io.MultiReader(body, &cutBody{r.Exchange})
	}
	resp.Body = io.NopCloser(body)
	return resp
}

// A cutBody is read after the last byte of an incomplete body. It returns an error.
type cutBody struct{ x *Exchange }

func (c *cutBody) Read([]byte) (int, error) {
	return 0, &Error{c.x.URL.String(), StageTruncated, fmt.Errorf("the body is not complete: %s: %w", c.x.Truncated, io.ErrUnexpectedEOF)}
}

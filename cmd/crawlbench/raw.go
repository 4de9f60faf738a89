package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// A bodyFunc does to a body the work that a floor measures.
type bodyFunc func(base *url.URL, body io.Reader) error

func discardBody(_ *url.URL, body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

func readBody(_ *url.URL, body io.Reader) error {
	_, err := io.ReadAll(body)
	return err
}

func tokenizeBody(base *url.URL, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	z := html.NewTokenizer(bytes.NewReader(b))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if errors.Is(z.Err(), io.EOF) {
				return nil
			}
			return z.Err()
		case html.StartTagToken:
			name, more := z.TagName()
			for link := string(name) == "a"; link && more; {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) == "href" {
					if _, err := base.Parse(string(value)); err != nil {
						return err
					}
				}
			}
		}
	}
}

func queryBody(base *url.URL, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	_, err = links(base, bytes.NewReader(b))
	return err
}

// links returns the links of a page, found with goquery.
func links(base *url.URL, body io.Reader) ([]string, error) {
	doc, err := goquery.NewDocumentFromReader(body)
	if err != nil {
		return nil, err
	}
	var list []string
	doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		href, _ := a.Attr("href")
		if u, err := base.Parse(href); err == nil {
			list = append(list, u.String())
		}
	})
	return list, nil
}

// rawRunner returns a contestant that fetches all pages from a list, one page of each host in
// turn.
func rawRunner(with bodyFunc) func(context.Context, *task) (report, error) {
	return func(ctx context.Context, t *task) (report, error) {
		client := t.client()
		defer client.CloseIdleConnections()
		urls := make(chan *url.URL, t.Concurrency)
		errs := make([]error, t.Concurrency)
		var workers sync.WaitGroup
		for i := range errs {
			// The worker ends with the list.
			workers.Go(func() {
				for u := range urls {
					if err := rawGet(ctx, client, u, with); err != nil {
						errs[i] = err
					}
				}
			})
		}
		for page := range t.Pages {
			for host := range t.Hosts {
				u := &url.URL{Scheme: t.Scheme, Host: fmt.Sprintf("%s:%d", hostAddr(host), t.Port), Path: pagePath(page)}
				urls <- u
			}
		}
		close(urls)
		workers.Wait()
		return report{}, errors.Join(errs...)
	}
}

func rawGet(ctx context.Context, client *http.Client, u *url.URL, with bodyFunc) error {
	req := (&http.Request{Method: "GET", URL: u, Host: u.Host, Header: http.Header{"User-Agent": {"rawbench"}}}).WithContext(ctx)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return with(u, res.Body)
}

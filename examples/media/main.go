// Command media archives the images, videos and recordings of sites in a bucket of an S3 store.
//
//	export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=...
//	go run . https://s3.example.org/BUCKET DIRECTORY https://example.org/
//
// The name of an object is the SHA-256 of its bytes. Its metadata has the URL, the page with it,
// the time, and the license that the page or the site names. An object that is in the bucket is
// not uploaded again, so it has the metadata of one of the URLs with these bytes.
//
// After a kill, or if the store fails, the same command continues, and requests again what it
// had fetched and not uploaded.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: media https://STORE/BUCKET DIRECTORY URL...")
	}
	at, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	store, err := minio.New(at.Host, &minio.Options{Creds: credentials.NewEnvAWS(), Secure: at.Scheme == "https"})
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), bucket{store, strings.Trim(at.Path, "/")}, crawler.Options{
		Identity: crawler.Identity{Token: "mediabot", Contact: "https://example.org/mediabot"},
		Seeds:    os.Args[3:],
		Dir:      os.Args[2],
	}, func(o object) { fmt.Println(o.name, o.url) })
	if err != nil {
		log.Fatal(err)
	}
}

// run calls tell for each object that is uploaded.
func run(ctx context.Context, to bucket, opts crawler.Options, tell func(object)) error {
	opts.Requisites, opts.Links = true, follows
	opts.Sitemaps = crawler.SitemapsNone         // wanted does not know which compressed files are sitemaps
	opts.MaxSize = cmp.Or(opts.MaxSize, 256<<20) // a body is in memory as a whole, one large body at a time
	opts.MaxBody = func(x *fetch.Exchange) int64 { return wanted(x, opts.MaxSize) }
	opts.Purpose = robots.PurposeArchive // a file whose owner refuses that is not kept
	opts.Output = []crawler.Output{}     // the bucket is the archive
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	for objects, err := range crawler.Batches(ctx, c, 1, 0, to.keep) {
		if err != nil {
			return err
		}
		tell(objects[0])
	}
	return nil
}

func isMedia(mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	return kind == "image" || kind == "video" || kind == "audio"
}

// wanted returns how many bytes of a body are read. Pages with links and media are read as a
// whole. Other files, and media that are longer than most, are not read.
func wanted(x *fetch.Exchange, most int64) int64 {
	media := fetch.ParseMediaType(x.Header["Content-Type"]).Type
	length, err := strconv.ParseInt(x.Header.Get("Content-Length"), 10, 64)
	if isMedia(media) && (err != nil || length <= most) || extract.Reads(media, extract.Options{}) {
		return math.MaxInt64
	}
	return 0
}

// follows reports whether a link is followed. Of the files that a page is shown with, only media
// are requested, and no scripts or style sheets.
func follows(_ *crawler.Page, l *crawler.Link) bool {
	element, _, _ := strings.Cut(l.Where, "/")
	return l.Hop != frontier.HopEmbed || slices.Contains([]string{"img", "source", "video", "audio"}, element)
}

// A bucket is a place for objects.
type bucket struct {
	store *minio.Client
	name  string
}

// An object is a file in the bucket.
type object struct{ name, url string }

// keep uploads a file, and returns it unless it was there. An error ends the crawl, and the next
// run uploads the file. If p is a page and not a file, keep only calls tag.
func (b bucket) keep(ctx context.Context, p *crawler.Page) ([]object, error) {
	if !isMedia(p.Type) {
		return nil, tag(p)
	}
	if p.Status != http.StatusOK || p.Truncated != "" || len(p.Body) == 0 {
		return nil, nil
	}
	sum := sha256.Sum256(p.Body)
	o := object{hex.EncodeToString(sum[:]), p.URL.String()}
	if _, err := b.store.StatObject(ctx, b.name, o.name, minio.StatObjectOptions{}); err == nil {
		return nil, nil
	}
	_, err := b.store.PutObject(ctx, b.name, o.name, bytes.NewReader(p.Body), int64(len(p.Body)), minio.PutObjectOptions{
		ContentType: p.Type,
		UserMetadata: map[string]string{
			"Url": field(o.url), "Page": field(p.Entry.Via), "License": field(licenseOf(p)),
			"Time": p.Exchange.Started.UTC().Format(time.RFC3339),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	return []object{o}, nil
}

// field shortens a URL, because S3 allows 2 KB of metadata for an object.
func field(url string) string { return url[:min(len(url), 600)] }

// tag gives the files that a page is shown with the license that the page names, as their tag.
func tag(p *crawler.Page) (err error) {
	license := ""
	for _, l := range p.Links() {
		if slices.Contains(strings.Fields(strings.ToLower(l.Rel)), "license") {
			license = l.URL.String()
		}
	}
	for _, l := range p.Links() {
		if l.Hop == frontier.HopEmbed {
			err = errors.Join(err, p.FollowLink(l, license))
		}
	}
	return err
}

// licenseOf returns the license of a file: the one that its page names, or else one of its own
// header or of robots.txt.
func licenseOf(p *crawler.Page) string {
	for _, license := range append([]string{p.Entry.Tag}, p.Signals().Licenses...) {
		if u, err := p.Resolve(license); err == nil && license != "" {
			return u.String()
		}
	}
	return ""
}

// Command media archives the images of a site in a bucket of an S3 store, with the license that
// their page names.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const bucket = "bucket"

func main() {
	store, err := minio.New("127.0.0.1:9000", &minio.Options{Creds: credentials.NewEnvAWS()})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	// With a cache, a collector that is restarted requests no page twice.
	pages := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.CacheDir("cache"))
	pages.IgnoreRobotsTxt = false
	files := pages.Clone()
	files.MaxBodySize = 256 << 20
	pages.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	pages.OnHTML("html", func(e *colly.HTMLElement) {
		license := e.Request.AbsoluteURL(e.ChildAttr(`[rel~="license"]`, "href"))
		e.ForEach("img[src], source[src], video[src], audio[src]", func(_ int, media *colly.HTMLElement) {
			ctx := colly.NewContext()
			ctx.Put("page", e.Request.URL.String())
			ctx.Put("license", license)
			files.Request("GET", e.Request.AbsoluteURL(media.Attr("src")), nil, ctx, nil)
		})
	})
	files.OnResponse(func(r *colly.Response) {
		kind := r.Headers.Get("Content-Type")
		if main, _, _ := strings.Cut(kind, "/"); main != "image" && main != "video" && main != "audio" {
			return
		}
		sum := sha256.Sum256(r.Body)
		name := hex.EncodeToString(sum[:])
		if _, err := store.StatObject(ctx, bucket, name, minio.StatObjectOptions{}); err == nil {
			return
		}
		_, err := store.PutObject(ctx, bucket, name, bytes.NewReader(r.Body), int64(len(r.Body)), minio.PutObjectOptions{
			ContentType: kind,
			UserMetadata: map[string]string{
				"Url": r.Request.URL.String(), "Page": r.Ctx.Get("page"), "License": r.Ctx.Get("license"),
				"Time": time.Now().UTC().Format(time.RFC3339),
			},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, r.Request.URL)
	})
	if err := pages.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

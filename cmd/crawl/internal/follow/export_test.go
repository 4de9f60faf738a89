package follow

import (
	"context"

	"github.com/permesso-crawler/permesso/crawler"
)

// Ask replaces the question to the process that runs the crawl.
func (c *Crawl) Ask(f func(context.Context, string) (crawler.Status, error)) { c.ask = f }

// Package crawler runs polite crawls: seeds in, pages out.
//
//	c, err := crawler.New(crawler.Options{
//		Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
//		Seeds:    []string{"https://example.org/"},
//	})
//	err = c.Run(ctx, crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
//		fmt.Println(p.URL, p.Title())
//		return nil
//	}))
//	if s := c.Summary(); s.Fetched == 0 {
//		log.Fatal(s)
//	}
//
// The zero value of every option is polite: robots.txt is obeyed, a site gets one request at a
// time with a second between two, and only addresses of the public Internet are contacted. Only
// the Identity and the seeds must be given. With Options.Dir the crawl lives in a directory: it
// survives a kill, and the same call resumes it. Batches and Crawler.Pages make a crawl a loop
// in the program. They are for programs that store results elsewhere and must not lose any.
//
// The other options are in groups: Follow, Budget, Pace, Robots, Wire, Keep and Hooks.
//
// # Reading the source
//
// job.Visit fetches one URL. job.go has what a visit needs. Crawler.Run opens a directory and a
// frontier around a job and starts the workers. settings.go is the table of the options that
// have names. values.go has the text forms of these options, except for numbers: the text forms
// of numbers are in package internal/setting. limits.go has the options that may change during
// a run. scope.go and links.go decide which links are followed; hooks.go calls the program's
// functions. siteoptions.go has the options of a single site, sites.go looks them up, and
// sitesbyhost.go makes them from a table. sitemaps.go queues the sitemaps that robots.txt
// names, and sitemapcounts.go counts what they list. traps.go and repeats.go refuse links into
// endless spaces of URLs. page.go is what a Handler gets, newpage.go makes a Page without
// fetching it, follow.go queues the URLs that a Handler follows, and tags.go passes a page to
// the Handler for its tag. batches.go is a crawl as a loop. signals.go obeys statements of
// owners about the use of pages. archive.go and log.go record requests and answers. left.go
// says why URLs that are left in the queue are not fetched, changes.go how the settings of a
// run differ from those of the run before. rescan.go reads the links of archived pages again.
//
// stored.go reads the options of the last run of a crawl. admission.go says which URLs may
// enter a crawl.
package crawler

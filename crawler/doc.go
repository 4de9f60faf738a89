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
// The zero value of every option is polite: robots.txt is obeyed, a site is
// asked one request at a time with a second between two, and only addresses of
// the public Internet are contacted. Only the Identity is required, and the
// seeds. With Options.Dir the crawl lives in a directory: it survives a kill,
// and the same call goes on with it. Batches and Crawler.Pages run it as a loop, for
// programs that keep elsewhere what they find and are to lose none of it. An Account
// tells what became of its URLs afterwards, and why.
//
// # Reading the source
//
// Job.Visit is the way of one URL; job.go is what it needs for that. Crawler.Run
// opens a directory and a frontier around a Job and starts the workers. settings.go
// is the table of what a crawl may be asked for by name, values.go and amounts.go how that is
// written; limits.go is what may change while a run goes on. scope.go and links.go
// decide which links are followed, hooks.go what the program has to say about them,
// siteoptions.go is what a program may say of one site alone, sites.go asks it, and
// sitesbyhost.go makes such a program of a table; sitemaps.go brings in what robots.txt lists,
// sitemapcounts.go counts what came of that, traps.go and repeats.go keep out of
// spaces without an end. page.go is what a Handler sees, newpage.go makes one of what
// was not fetched, follow.go what it may ask for, and tags.go which one is given a page;
// batches.go is a crawl as a loop; signals.go heeds what owners say about the use of
// pages; archive.go and log.go write down what was asked and answered. left.go says why
// what is left is not fetched, changes.go what a run does otherwise than the one before;
// and rescan.go reads an archive again.
//
// Of a crawl that is over account.go says how its URLs stand, and explain.go all that is
// known of one: explain_rules.go what robots.txt says of it, explain_log.go what
// crawl.log does, explain_out.go what keeps it out, refused.go that of all links.
// answer.go finds what was answered, stored.go what the last run was asked to be, and
// linescan.go lines in large files.
package crawler

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
// The zero value of every option is polite: robots.txt is obeyed, a site gets one request at
// a time with a second between two, and only addresses of the public Internet are contacted.
// Only the [Identity] and the seeds must be given. With [Options.Dir] the crawl lives in a
// directory: it survives a kill, and the same call resumes it.
//
// Where to start:
//
//   - To handle each page: [New], then [Crawler.Run] with a [Handler]. [Tags] has a Handler for
//     each kind of page. [Page.Follow], [Page.FollowTag] and [Page.FollowAll] queue URLs.
//   - To crawl in a loop of the program: [Crawler.Pages]. To store results elsewhere and lose
//     none: [Batches].
//   - To choose what is crawled, how fast and for how long: the groups of [Options], which are
//     [Follow], [Budget], [Pace], [Robots], [Wire], [Keep] and [Hooks], and a [Scope] such as
//     [SameDomain]. [SitesByHost] has settings for single sites, [OptOutList] sites that are never
//     contacted.
//   - To see before a crawl what robots.txt allows: [PlanOf].
//   - To watch or change a crawl that runs: [Crawler.Status], [Crawler.Add], [Crawler.Allow],
//     [Crawler.Pause], [Crawler.Slow], [Crawler.Exclude], [Crawler.Stop].
//   - To learn what could not be fetched, and why: [Crawler.Summary], [Crawler.Left],
//     [Hooks.OnSkip].
//   - To use the results of a crawl that does not run: [ReadPages], [ReadStatus], and
//     package storage.
//   - To crawl without end: [Options.Revisit] and package revisit.
//   - To test a job or a Handler: package crawltest.
//
// # Errors
//
// Failures of sites are not errors of a run: the Summary and Left report them. The other errors,
// and what to do:
//
//   - [*OptionError], from New and from methods that take a setting: it says how to correct it.
//   - [*IdentityError], from Run: the directory belongs to a crawl with another name or contact.
//     Go on under that one, or choose another directory.
//   - *storage.InUseError, *storage.DamagedError and the other errors of package storage, from Run
//     and from functions that read a directory: the documentation of that package says what to do.
//   - [*PanicError], from Run: a function in the options has panicked. Correct it; nothing is lost.
//   - The cause of the context ([context.Cause]), from Run: the queue is kept in Options.Dir.
//   - [ErrEnded], from methods that change a run: the run has ended. [ErrRan]: Run was called twice.
//
// A Handler returns [ErrRetry] to get the page again, and [ErrStop] to end the crawl. Any other
// error of it is counted and logged, and the crawl continues.
//
// # Units and zero values
//
// 0 means the default that the comment of the field names: in [Budget], mostly no limit. If the
// default is a pause or a limit that may be taken away, -1 means none ([NoDelay] for pauses).
// [frontier.Forever] is a Patience without an end. Sizes are in bytes: MaxBytes and Bandwidth
// count them as they come over the wire, MaxSize after decoding.
//
// # Concurrency
//
// A [Crawler] runs once, by Run, Pages or Batches. While it runs its methods may be called from any
// goroutine; [Crawler.Idle] comes before the run, and Summary after it. A Handler gets the pages of
// one site one after the other, and pages of several sites at the same time. The functions in the
// options are also called for several sites at the same time: they must be quick and safe for
// concurrent use. A [Page] is valid until its Handler returns, and must be used by one goroutine at
// a time. An [OptOutList] is safe for concurrent use.
//
// # Sources
//
// RFC 9309 (robots.txt), RFC 9110 (HTTP), RFC 6585 (429), sitemaps.org (sitemaps), RFC 6596
// (canonical URLs), WARC 1.1 and CDXJ (the archive). What is not in a specification is in the
// packages below this one: package frontier decides when a URL is requested, package fetch makes the
// request, package robots reads robots.txt and the statements about use, package extract finds the
// links, package storage keeps the crawl.
package crawler

// Reading the source: the files use each other in one direction only, from the run down to the
// options. A file may use what stands below it in this list.
//
// Questions about a crawl that does not run: plan.go, readpages.go, and statusdir.go, which also
// says whether a run would find nothing to do. statusnodes.go adds up the status of several nodes.
// batches.go runs a crawl as a loop over its pages or over batches of rows.
//
// A run: Crawler.Run in run.go opens a directory and a frontier and starts the workers. rescan.go
// reads the links of archived pages again. status.go has the figures of a run, steer.go changes a
// run, and left.go says why URLs that are left in the queue are not fetched. seeds.go queues the
// seeds, carry.go takes over what is known from an earlier crawl, and clusterorders.go tells other
// machines that crawl with this one about orders and limits. crawler.go has the type Crawler.
//
// A visit: job.Visit in visit.go fetches one URL. follow.go queues the URLs that a Handler
// follows. archive.go and log.go record requests and answers. again.go and past.go are about
// pages that were fetched before. sitemaps.go queues the sitemaps that robots.txt names, links.go
// decides which links of a page enter the crawl, and signals.go obeys statements of owners about
// the use of pages. job.go has what all visits of a run share.
//
// Options: limits.go has those that may change during a run, and lastrun.go compares the options
// with those of the run before. settings.go checks them, and is the table of those that have
// names; values.go has their text forms, except for numbers, which package internal/setting
// reads. sites.go and siteoptions.go have the options of single sites. hooks.go and handler.go
// call the program's functions, and same.go finds URLs that lead to the same page. options.go,
// scope.go and identity.go are the options themselves.
//
// Records that the others fill: orders.go, stats.go, slots.go, repeats.go, page.go, cluster.go.

// Package frontier decides which URL a crawl requests next, and when it may.
//
// It opens no connection and no file and starts no goroutine. A [Backlog] stores the queued
// entries; the frontier decides when each entry is requested. Any number of workers run this loop:
//
//	for {
//		turn, err := f.Next(ctx) // waits until a site may get a request
//		if err != nil {
//			return err // such as ErrEnd
//		}
//		outcome := visit(ctx, turn) // makes at most one request
//		if _, err := turn.Finish(outcome); err != nil {
//			return err
//		}
//	}
//
// Where to start:
//
//   - To write a crawler, make a [Frontier] with [New] and a Backlog such as [NewMemory], queue
//     seeds with [ParseURL] and [Frontier.Add], and run the loop. The method Get of a fetch.Fetcher
//     makes the request of a [Turn] and its [Outcome]. The program examples/ownfetcher does all of
//     this. Package crawler is such a crawler.
//   - To change a run, call [Frontier.Allow], [Frontier.Slow], [Frontier.Exclude] and
//     [Frontier.Stop]. To watch it, call [Frontier.Stats], [Frontier.Status] and [Frontier.Sites].
//   - To share pauses with other crawls, set [Options.Shared] to [NewSharedClocks] or to a
//     machine.Table.
//   - To run one crawl on several machines, write a Backlog that several frontiers share: see
//     [Term], [Frontier.Withdraw] and [Frontier.End].
//   - To work with URLs alone, call [ParseURL], [URL.Resolve] and [URL.Key].
//
// # Notions
//
//   - A [URL] is identified by its Key and requested as it was written.
//   - A [Site] (scheme, host, port) has one set of [Clocks].
//   - A [Turn] is the right to make one request to a site. It is out until Finish ends it with its
//     Outcome. At most one Turn per site is out, and none before the site is due.
//   - A [Clock] is a reason why a site waits until some time. The clock with the latest time
//     decides, so a further clock can only make the wait longer. The site stores the name of the
//     deciding clock, so that a report can say why the site waits.
//   - Each [Entry] that ends has exactly one [Fate].
//
// The life of an entry: Add puts the entry in the backlog, unless the backlog has seen it before.
// Next hands the entry out in a Turn when its site is due. Finish updates the clocks, frees the
// site and submits the entry's fate. With [Outcome.Hold] the entry is held: Done submits the fate,
// not Finish. The caller can then handle the answer after Finish, while the site has other turns.
// If the process is killed before Done, the entry is still queued.
//
// # The end of a run
//
// A run ends when no turn is out, no entry is held and no entry falls due within
// [Limits.Patience], or when a limit is reached. With [Options.Requisites], the images, scripts
// and style sheets of pages are still fetched after the limit of pages is reached. Add and Allow
// work only until the run ends. If [Limits.Open] is set, only Stop and End end the run. A [Rest]
// says whether anything is under way, and with which error the run would otherwise end.
//
// # Several frontiers
//
// Several frontiers, for example on several machines, can share one backlog, such as a database.
// At any time each site belongs to at most one of them, and only this frontier makes requests to
// the site. [Options.Term] says which sites a frontier owns. A [Growth] brings sites to a
// frontier, with the clocks that their last owner has stored. [Frontier.Withdraw] removes sites,
// after it has waited until none of them is in use. If a frontier has died, its last requests are
// not known. Then [Term].Rest is the time until which it may have made some, and each site rests
// its full pause, counted from this time. While a frontier cannot be sure that its sites still
// belong to it, [Options.Blocked] keeps it from requests. No frontier alone knows when the crawl
// has ended: [Frontier.Rest] returns the state of one frontier, and [Frontier.End] ends its run.
//
// # Errors
//
//   - The run has ended: Next, Add, Allow, Slow and Exclude return [ErrEnd], [ErrUnasked] or
//     [ErrPatience] (which match ErrEnd), [ErrLimit] or [ErrStopped]. These are not failures.
//     Any other error is that of the backlog, of Options.Site or of the context of Next.
//   - The turn must not make its request now: [Turn.Bind], [Turn.Pace] and [Turn.Hop] return a
//     [*NotYet]. Call Finish with [Outcome.Again] and without a request. Hop returns
//     [ErrExcluded] if the other site is excluded.
//   - The text is no URL that can be crawled: a [*URLError]. Skip it. An Entry without a URL
//     is [ErrNoURL].
//   - Slow returns a [*FasterError] if a longer pause is in force.
//
// A failure of a site is no error: it is the [Trouble] of an Outcome. The frontier then tries the
// entry again, as often as [MaxTries] says, or gives the site up.
//
// # Units and zero values
//
// The zero value of [Options] is polite. 0 means the default that the comment names, such as
// [DefaultDelay], and for limits no limit; -1 means none for pauses and patience. [Forever] is a
// patience without an end. Sizes are in bytes. The zero Time means that there is no such time.
//
// # Concurrency
//
// A Frontier and the backlogs are safe for concurrent use. A Turn belongs to one goroutine;
// only [Turn.Done] may be called from another one. A [Resolver] is for one goroutine, and so is
// [Growths.Put]. All other types are plain values.
//
// # Slow sites
//
// A slow site keeps a turn for a long time. [Limits].Turns may limit how many turns are out at the
// same time. Then some turns are kept back for quick sites, even if there are many slow ones.
// Their number is one more than the quick sites use on average, but at most one for each quick
// site, and at most half of all turns.
//
//   - A site is quick if the visit for its last page took no longer than 3 s. A visit lasts
//     from Next to Finish. A single slow page among quick ones does not make a site slow.
//   - Sites without a page request in this run share the turns that are not kept back
//     with the slow sites. Those whose robots.txt came quickly come before the slow sites.
//   - No turn is kept back before a visit of more than 3 s has ended, or when 5 minutes have
//     passed since the last such visit. None is kept back for sites that rest for more than a
//     minute.
//   - If there is only one turn, half of its time is kept back: after a slow visit only
//     quick sites are visited, for as long as that visit took.
//
// # Clocks that are wrong
//
// Within a run pauses are measured by the monotonic clock of the process (see package time): a
// correction of the wall clock, of a second or of years, makes no pause shorter or longer. The
// times kept between runs are of the wall clock. The stored time of a site's last answer may
// lie in the future, or more than a year ago. Then the clock was changed, or the crawl was
// copied to a machine with another clock, and the last pause of that site, or its Retry-After,
// counts from the start of the run. If the clock is put forward by less than a year between two
// runs, this cannot be distinguished from time that has passed.
//
// # After a crash
//
// Each site rests its full pause, counted from the restart ([Options.Restarted]). The sites with a
// request in flight are not recorded, because that would cost a write before each request. After a
// kill this is harmless: the system closes the connections of the process, and the servers notice
// it at once. After a power cut, or if the network failed first, a server may still be sending the
// last answer. Then each such site may get one further request, after its pause, while it is still
// sending.
//
// # Sources
//
// The rules for requests are those of RFC 9309 (robots.txt, sites: section 2.3), RFC 9110 (status
// codes, Retry-After: section 10.2.3) and RFC 6585 (429: section 4). Crawl-delay, Request-rate and
// Visit-time are not in an RFC: see package robots. URLs are parsed as the URL Standard of WHATWG
// says (section 4.4), and compared in the normal form of RFC 3986, section 6.2.2. The letters of
// a [Hop] are those of the crawler Heritrix. Registrable domains are those of the Public Suffix
// List.
package frontier

// Reading the source: start with Frontier.Next and Turn.Finish.
//
//   - wait.go: which goroutine waits for the timer; growth.go: growths of the backlog
//   - pace.go: limits of all sites together; sitelimits.go: limits of one site
//   - quick.go: turns kept back for quick sites
//   - requisites.go: requests after the limit of pages
//   - steer.go: changes during a run; rest.go: what is under way; hold.go: held entries
//   - url.go and site.go: URLs and sites
//   - clock.go: when a site is due; past.go: the history of a site; kept.go: times
//     that were kept over a restart
//   - work.go: the state that only few sites have at the same time
//   - queue.go, common.go and shared.go: what a site can wait for: its own time, the turn
//     of another site, an address, a registrable domain or a host name that it shares with
//     others, another process
//   - backlog.go: the interface to the disk, and what else a backlog that several frontiers share
//     needs; memory.go: an implementation in memory; term.go: sites that change hands

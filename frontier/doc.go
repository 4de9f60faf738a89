// Package frontier knows which URL a crawl asks for next, and when it may.
//
// It is a pure room: it opens no connection and no file and starts no
// goroutine. What it queues lives in a [Backlog]; what it owns is time.
//
//   - A [URL] is identified by its Key and requested as it was written.
//   - A [Site] (scheme, host, port) has one set of [Clocks].
//   - A [Turn] is the sole right to talk to one site. At most one Turn per site
//     is out, and none before the site is due. A Turn makes at most one
//     request; what it came to is its [Outcome], given back with Finish.
//   - Every clock only raises the delay; the latest binds, and the site
//     remembers its name, so that "what are we waiting for?" has an answer.
//   - An entry that leaves the frontier leaves with exactly one [Fate].
//
// The life of an entry: Add puts it in the backlog, which drops what it has
// seen; Next hands it out in a Turn when its site is due; Finish moves the
// clocks, frees the site and submits what became of the entry. With Hold that is left to
// Done: who handles what was fetched later than that has the site go on, and the entry
// queued for whoever comes after a kill. A run is over when nothing is in flight or held
// and nothing falls due within the patience, or a limit is used up; with Options.Requisites limits of pages
// alone leave nothing that pages are shown with behind. Add and Allow work while it runs,
// and not after its end.
// A frontier whose [Limits] are Open has none but Stop; Rest tells whoever is to
// decide whether anything moves in it.
//
// # Slow sites
//
// A slow site holds a turn for long. If [Limits] says how many turns are out at once, up to
// half of these are kept back for quick sites, however many slow ones there are: one turn
// more than the quick sites use on average, and no more than one for each of them.
//
//   - A site is quick if its last page took no longer than 3 s, from Next to Finish. A single
//     slow page among quick ones does not count.
//   - Sites without a page in this run share the other turns with slow sites,
//     and go before them.
//   - Nothing is kept back before the first visit of more than 3 s has ended, after 5 minutes
//     without another one, and for sites that rest for more than a minute.
//   - If there is one turn only, half of its time is kept back: for as long as a slow visit
//     took, quick sites alone are asked.
//
// # Clocks that are wrong
//
// Within a run pauses are measured by the monotonic clock of the process (see
// package time): a correction of the wall clock, of a second or of years, makes
// none shorter or longer. What is kept between runs are times of the wall clock.
// A site whose last answer lies in the future, or more than a year ago, was
// asked under another clock, or its crawl was copied to a machine with another
// one: its last pause, a Retry-After, too, counts from the start of the run.
// A clock that was wrong by less than a year, and is put forward between two
// runs, cannot be told from time that has passed.
//
// # After a crash
//
// Each site rests its full pause from the restart (Options.Restarted). Which sites
// were being asked is not kept: it would cost a write before each request. A
// process that is killed loses nothing by that, since the system closes its
// connections and the servers learn of it at once. After a power cut, or where
// the network went first, a server may still be busy with the last answer, for
// as long as it tries to send; a request beside it is possible then, one for
// each site, after the pause.
//
// # Reading the source
//
// Start from Frontier.Next and Turn.Finish. wait.go says who keeps the time while
// nothing is due, news.go what becomes of what the backlog tells, pace.go what
// counts for all sites together, sitelimits.go what counts for one of them alone, quick.go
// which turns are kept back from slow sites, requisites.go what is asked for once pages are
// spent, steer.go what it is told while it runs, rest.go what is under way, and hold.go what
// is done but for its end. url.go and site.go say what a URL is; clock.go computes when a
// site is due, past.go keeps what it has come to, and kept.go says what is left of that
// after a restart; work.go has what is going on with few sites at a time; queue.go,
// common.go and shared.go hold what a site can wait for: its own time and another site's right, an
// address, a registrable domain or a host name that it has in common with others, another
// process. backlog.go is the seam to the disk, memory.go its counterpart in memory.
package frontier

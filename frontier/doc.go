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
// clocks, frees the site and submits what became of the entry. A run is over
// when nothing is in flight and nothing falls due within the patience.
//
// # Reading the source
//
// Start from Frontier.Next and Turn.Finish. url.go and site.go say what a URL
// is; clock.go computes when a site is due; queue.go, common.go and shared.go
// hold what a site can wait for: its own time and another site's right, an
// address or a registrable domain that it has in common with others, another
// process. backlog.go is the seam to the disk, memory.go its counterpart in
// memory.
package frontier

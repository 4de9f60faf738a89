// Package fetch talks to sites: the wire of a crawl.
//
// A [Fetcher] keeps one per-host fetcher for each site. A visit gives it the
// site's [frontier.Turn] and gets back every [Exchange] that was made and the
// outcome for the turn. The site's robots.txt comes first, always: where the
// copy at hand is stale, asking for it is the turn's one request, and the
// entry is offered again.
//
// What holds for every request, pages and robots.txt alike:
//
//   - Names are resolved, the addresses checked, the turn bound to one of them,
//     and only that address is dialled: a name that answers differently the
//     second time leads nowhere.
//   - One connection per site, kept alive between requests, never two requests
//     at once on it, and no request is silently sent again.
//   - No redirect is followed here. A page's redirect is an answer like any
//     other; the redirects of a robots.txt are followed one turn after the
//     other (RFC 9309, section 2.3.1.2).
//   - Every phase has a time-out, and so has the whole; bodies are capped after
//     decompression, and what was cut says so. All bodies together have a bound
//     of memory.
//   - An answer that asks for a browser in a page's place is no page and no
//     robots.txt: it is the site's wish for rest.
//
// [Network] is the one seam to the outside.
//
// # Reading the source
//
// host.go is the visit, and fetcher.go remembers the hosts that were visited
// lately; ownsite.go is what holds for one of them alone; rules.go is the way of a robots.txt, guest.go that to another site;
// mining.go and licensing.go ask what else is said about use, licenses.go keeps copies of that;
// exchange.go one request and its answer, and what it means for the clocks
// (retryafter.go). On the way out: names.go and endpoint.go (where a site is),
// proxy.go, dial.go and conn.go (the connection), header.go; on the way back:
// record.go (what an archive wants), body.go, budget.go, coding.go and
// bandwidth.go (the content), media.go, challenge.go and captcha.go. watch.go
// ends what takes too long, failure.go names what goes wrong.
package fetch

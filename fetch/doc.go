// Package fetch sends the requests of a crawl and reads the answers.
//
// A [Fetcher] keeps one per-host fetcher for each site. A visit passes the site's
// [frontier.Turn] and gets back every [Exchange] that was made and the outcome for the turn.
// The site's robots.txt always comes first: if the stored copy is stale, the turn's one
// request fetches it, and the entry is offered again.
//
// These rules hold for every request, for pages and robots.txt alike:
//
//   - Names are resolved, the addresses checked, the turn bound to one of them, and only that
//     address is dialled: a name that resolves differently the second time changes nothing.
//   - Each site has one connection, kept alive between requests. It never carries two
//     requests at once, and no request is silently sent again.
//   - No redirect is followed here. A page's redirect is an answer like any other; the
//     redirects of a robots.txt are followed one turn after another (RFC 9309, section
//     2.3.1.2).
//   - Every phase has a time-out, and so has the whole exchange. Bodies are limited after
//     decompression, and a body that was cut is marked. The memory of all bodies together is
//     bounded.
//   - A bot-challenge page is neither a page nor a robots.txt: it counts as the site's wish
//     for rest.
//
// [Network] is the only way to the outside.
//
// # Reading the source
//
// host.go makes a visit, fetcher.go remembers the hosts that were visited lately, and
// ownsite.go has the settings of one site. rules.go fetches robots.txt, and othersite.go follows
// its redirects to another site. mining.go and licensing.go fetch further statements about
// the use of pages; licenses.go keeps copies of licenses. exchange.go has one request with
// its answer, and what the answer means for the clocks (retryafter.go). For the request:
// names.go and endpoint.go (the address of a site), proxy.go, dial.go and conn.go (the
// connection), header.go. For the answer: record.go (the heads that an archive keeps),
// body.go, budget.go, coding.go and bandwidth.go (the content), media.go, challenge.go and
// captcha.go. watch.go ends exchanges that take too long, failure.go names failures.
package fetch

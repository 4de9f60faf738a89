// Package fetch sends the requests of a crawl and reads the answers. It also has an HTTP client
// for programs that are no crawlers.
//
// A [Client] makes polite requests: [Client.Get] waits until the site may get a request, obeys
// its robots.txt, and follows redirects. A Client is also the transport of an [http.Client].
//
// The rest of this package is for crawlers that have a frontier of their own (package
// frontier), which decides when each URL is requested. A [Fetcher] keeps one per-host fetcher
// for each site, with its connection and its robots.txt. A visit is one call of [Fetcher.Get].
// Its parameter turn is a [frontier.Turn]: the right to make one request to a site for a queued
// URL, which is called the entry of the turn. The visit gets back every [Exchange] that was
// made, and the outcome for the turn. The robots.txt of a site always comes first: if the
// stored copy is stale, the one request of the turn fetches robots.txt, and the frontier hands
// out the entry again later.
//
// These rules hold for every request, for pages and robots.txt alike:
//
//   - The name of a site is resolved, its addresses are checked, and the turn is bound to one
//     address. Only that address is dialled, even if the name resolves to another address a
//     moment later.
//   - Each site has one connection, kept alive between requests. It never carries two
//     requests at once, and no request is silently sent again.
//   - A redirect of a page is not followed: it is an answer like any other. The redirects of a
//     robots.txt are followed over several turns (RFC 9309, section 2.3.1.2).
//   - Every phase has a time-out, and the whole exchange has one, too. The size of a decoded
//     body is limited, and a body that was cut is marked. The memory of all bodies together is
//     limited.
//   - A bot-challenge page does not count as a page or as a robots.txt. It means that the site
//     wants fewer requests, so the crawler slows down.
//
// Only [Network] resolves names and opens connections.
//
// # Reading the source
//
// client.go has the Client, which has a frontier of its own. clientcalls.go has the requests
// that wait for their turn. clientstate.go keeps the clocks, which are the times before which a
// site gets no request, in a file. roundtrip.go makes a Client the transport of an http.Client.
//
// host.go makes a visit, fetcher.go remembers the hosts that were visited recently, and
// ownsite.go has the settings of one site. rules.go fetches robots.txt, and othersite.go
// follows its redirects to another site. mining.go and licensing.go fetch further statements of
// site owners about the use of their pages: tdmrep.json and licenses. licenses.go keeps the
// licenses in memory. exchange.go has one request with its answer, and tells what the answer
// means for the pauses between requests (retryafter.go). These files are for the request:
// names.go and endpoint.go (the address of a site), proxy.go, dial.go and conn.go (the
// connection), header.go. These are for the answer: record.go (the heads that an archive
// keeps), body.go, budget.go, coding.go and bandwidth.go (the content), media.go, challenge.go
// and captcha.go. watch.go ends exchanges that take too long, and failure.go names the stages
// of failures.
package fetch

// Package fetch sends the requests of a crawl and reads the answers. It also has an HTTP client
// for programs that are no crawlers.
//
//	client, err := fetch.NewClient(fetch.ClientOptions{
//		Token:   "examplebot",
//		Contact: "https://example.org/examplebot",
//	})
//	if err != nil { ... }
//	defer client.Close()
//	answer, err := client.Get(ctx, "https://example.com/feed.xml")
//
// Where to start:
//
//   - To make single requests, politely: [NewClient], then [Client.Get], which waits until the site
//     may get a request, obeys its robots.txt, and follows redirects. A [Client] is also the
//     transport of an [http.Client].
//   - To write a crawler that has a frontier of its own (package frontier): [New], then
//     [Fetcher.Get] for each turn.
//   - To read answers that another program has stored: [Decode], [ParseMediaType].
//   - To sign requests, so that servers can check which crawler sends them: [Signing].
//   - To use a proxy, a test server or a network of your own: [ParseProxy], [EnvironmentProxy],
//     [ParseConnectTo], [Network]. Package crawltest has a Network in memory.
//
// # Fetcher
//
// A [Fetcher] keeps one per-host fetcher for each site, with its connection and its robots.txt. A
// visit is one call of Fetcher.Get. Its parameter turn is a [frontier.Turn]: the right to make one
// request to a site, for a queued URL (the entry of the turn). The [Result] has every [Exchange]
// that was made, and the outcome for the turn. The robots.txt of a site is always fetched first.
// If the stored copy is stale, the turn is used for robots.txt, and the frontier hands out the
// entry again later. [Snapshots] stores the copies.
//
// # Requests
//
// These rules hold for every request, for pages and robots.txt alike:
//
//   - The name of a site is resolved, its addresses are checked, and the turn is bound to one
//     address. Only that address is dialled, even if the name resolves to another address a
//     moment later.
//   - Each site has one connection, kept alive between requests. It never carries two
//     requests at once, and no request is silently sent again.
//   - A redirect of a page is not followed: it is an answer like any other. Client.Get then makes
//     another request in another turn. The redirects of a robots.txt are followed over several
//     turns (RFC 9309, section 2.3.1.2).
//   - Each phase of an exchange has a time-out, and so has the whole exchange. The size of a
//     decoded body is limited, and a body that was cut is marked. The memory of all bodies
//     together is limited.
//   - A bot-challenge page does not count as a page or as a robots.txt. It counts as a sign that
//     the site wants fewer requests, so the crawler slows down.
//
// Only [Network] resolves names and opens connections.
//
// # Errors
//
// The errors of a Client, and what to do:
//
//   - [*RefusedError]: robots.txt, the owner or [ClientOptions.OptOut] forbids the request. Do not
//     make it.
//   - [*NotYetError]: the site must not be contacted now, or the context of the caller has
//     ended (see ctx.Err). Otherwise try again at its time Until.
//   - [*Error]: there is no answer. Its [Stage] says what failed, such as [StageAddress] for
//     a host that is not public, [StageProxy], or [StageChallenge] for a page that demands a
//     browser.
//   - A *frontier.URLError: the text is no URL that can be requested.
//   - [ErrClientClosed]: Close was called.
//
// A status such as 404 or 503 is no error. A body that broke off or was cut is no error either:
// see [Exchange.Truncated].
//
// Fetcher.Get does not return the failures of a site as errors. They are in the Result, and the
// frontier uses its Outcome. An error of Get means that the machine, the proxy, the Snapshots or a
// function of the program has failed, so the crawl cannot continue. [TooManyOpen] reports whether
// the limit of open files is reached. If an error of [Fetcher.Stored] wraps [ErrStored], the copy
// of a page cannot be read: fetch the page again.
//
// # Units and zero values
//
// Sizes and budgets are in bytes. The comment of each field says whether these are bytes of
// decoded bodies or bytes as received. A size or time of 0 means the default, such as
// [DefaultMaxSize]. For [Options.Bandwidth] and [Bodies.BodyBudget], 0 means no limit. A
// [ClientOptions.Delay] of -1 means no pause; public addresses always get a pause. Addresses that
// are not public are refused unless AllowPrivate is set.
//
// # Concurrency
//
// A Client and a Fetcher are safe for concurrent use, and the functions in their options must be,
// too. An Exchange and a Result are for one goroutine at a time.
//
// # Sources
//
// RFC 9309 (robots.txt), RFC 9110 (HTTP; Retry-After: section 10.2.3, redirects: 15.4), RFC 6585
// (429: section 4), RFC 9421 with draft-ietf-webbotauth-httpsig-protocol-01 (signatures), RFC 9111
// (stored answers), RFC 9112 and 9113 (HTTP/1.1 and HTTP/2), the Fetch standard of WHATWG (media
// types), and the special-purpose registries of IANA (public addresses).
package fetch

// Reading the source:
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

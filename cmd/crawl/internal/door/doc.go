// Package door is how somebody talks to a crawl that runs: HTTP over a Unix socket in
// its directory. There is no port and no token; the permissions of the socket are the
// lock. Whoever comes in can look, and make the crawl ask less of sites.
//
// The crawl does not depend on it: what is slow, broken or hostile at the door is cut
// off there.
package door

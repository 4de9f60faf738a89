// Package control is the control socket of a running crawl: HTTP over a Unix socket in its
// directory. There is no port and no token: the permissions of the socket decide who may
// connect. A client can look, and make the crawl send fewer requests to sites.
//
// The crawl does not depend on it: slow, broken and hostile clients are cut off.
package control

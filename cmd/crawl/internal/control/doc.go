// Package control is the control socket of a running crawl: HTTP over a Unix socket in the
// directory of the crawl. There is no port and no token, because the permissions of the
// socket decide who may connect. A client can look, and make the crawl send fewer requests
// to sites.
//
// The crawl does not depend on its clients: it cuts off slow, broken and hostile ones.
package control

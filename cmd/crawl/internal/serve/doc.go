// Package serve serves pages about crawls and series of crawls to browsers on this machine.
//
// A request is only answered if it names a loopback host, so that a page of another site cannot
// reach the server by a name of its own that resolves to a loopback address (DNS rebinding).
// Requests that change a crawl need the token of the server, and must not come from a page of
// another origin. There are no cookies, because browsers send a cookie to all ports of a host.
//
// Text from sites and files is only shown as text. The pages load nothing from elsewhere, and
// run one script, which is a file of the server.
//
// A running crawl is only asked through its control socket, by one goroutine for all browsers,
// and only while a browser shows it.
package serve

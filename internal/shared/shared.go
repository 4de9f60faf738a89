// Package shared has the clocks that all crawls and clients of one process share.
package shared

import "github.com/permesso-crawler/permesso/frontier"

// process has the clocks for all crawls and clients of this process that have none of their
// own. They share these clocks, so that a site does not get more requests if a program runs
// several crawls.
var process = frontier.NewSharedClocks()

// Of returns the clocks for a crawl or a client: own, if it is not nil; otherwise the clocks of
// the network, if it has any; otherwise the clocks of the process. A network in memory, such as
// a web of crawltest, has clocks of its own.
func Of(own frontier.Shared, network any) frontier.Shared {
	if own != nil {
		return own
	}
	if n, ok := network.(interface{ Clocks() frontier.Shared }); ok {
		return n.Clocks()
	}
	return process
}

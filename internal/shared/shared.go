// Package shared has the clocks that all crawls and clients of a process share.
package shared

import "github.com/permesso-crawler/permesso/frontier"

// process has the clocks of all crawls and clients of this process that have no clocks of their
// own. They share them, because a site must not get more requests if a program runs several
// crawls and clients.
var process = frontier.NewSharedClocks()

// Of returns the clocks for a crawl or a client. If own is not nil, these are own. Otherwise
// they are the clocks of the network, if it has any: a network in memory, such as a web of
// crawltest, has clocks of its own. Otherwise they are the clocks of the process.
func Of(own frontier.Shared, network any) frontier.Shared {
	if own != nil {
		return own
	}
	if n, ok := network.(interface{ Clocks() frontier.Shared }); ok {
		return n.Clocks()
	}
	return process
}

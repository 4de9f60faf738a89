// Package shared has the clocks that all crawls and clients of a process share.
package shared

import "github.com/permesso-crawler/permesso/frontier"

// process has the clocks of all crawls and clients of this process without clocks of their
// own: a site must not notice that a program runs several.
var process = frontier.NewSharedClocks()

// Of returns own, unless it is nil. The next choice are the clocks of network, the last one
// those of the process. A network in memory, such as a web of crawltest, has clocks of its
// own.
func Of(own frontier.Shared, network any) frontier.Shared {
	if own != nil {
		return own
	}
	if n, ok := network.(interface{ Clocks() frontier.Shared }); ok {
		return n.Clocks()
	}
	return process
}

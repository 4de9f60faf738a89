package state

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Store is the state of a crawl in one process that runs the crawl. It implements
// frontier.Backlog and fetch.Snapshots. A DB is a Store in a file; package storage/postgres
// has a Store in a database. The methods have the contracts of the methods of DB. They are safe
// for concurrent use, except Begin, Abandon and Close.
type Store interface {
	frontier.Backlog

	Snapshot(frontier.Site) (*robots.Snapshot, error)
	PutSnapshot(frontier.Site, *robots.Snapshot) error
	License(frontier.URL) (*robots.Snapshot, error)
	PutLicense(frontier.URL, *robots.Snapshot) error

	Entry(site frontier.Site, keys ...string) (Kept, bool, error)
	Entries(frontier.Site) iter.Seq2[Kept, error]
	Names() iter.Seq2[frontier.Site, error]
	Ahead(Kept) (int, error)
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error]
	Snapshots(frontier.Site) iter.Seq2[*robots.Snapshot, error]

	Get(key string, value any) (bool, error)
	Keys(prefix string) iter.Seq2[string, error]
	Put(key string, value any) error
	Sync(context.Context) error
	Requeue(wanted func(frontier.Entry) bool) (int, error)
	Payload(digest string) (*Payload, error)
	PutPayload(digest string, p Payload) error

	Begun() Begun
	Marks() Marks
	PutMarks(growing Marks, index IndexMarks) error
	Begin(outputs Outputs, growing, finished Marks) error
	Abandon() error
	Hasten()
	Close() error
}

// An Opener opens Stores that are not in the state file of the directory of a crawl.
type Opener interface {
	// OpenStore opens the state of the crawl whose outputs are in dir. It writes nothing that
	// another process reads before Begin.
	OpenStore(dir string, opts Options) (Store, error)

	// OpenRecords opens the state of the whole crawl for reading, while nodes run or not. dir is
	// the directory of a node, or "".
	OpenRecords(dir string) (Reading, error)
}

// Records is the interface for reading the state of a crawl. Its methods have the contracts of
// the methods of DB.
type Records interface {
	Begun() Begun
	Sites() iter.Seq2[frontier.SiteState, error]
	State(frontier.Site) (frontier.SiteState, error)
	Common() iter.Seq2[frontier.CommonClock, error]
	Entry(site frontier.Site, keys ...string) (Kept, bool, error)
	Entries(frontier.Site) iter.Seq2[Kept, error]
	Names() iter.Seq2[frontier.Site, error]
	Ahead(Kept) (int, error)
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error]
	Snapshot(frontier.Site) (*robots.Snapshot, error)
	Snapshots(frontier.Site) iter.Seq2[*robots.Snapshot, error]
	Get(key string, value any) (bool, error)
	Keys(prefix string) iter.Seq2[string, error]
}

// A Reading is the state of a crawl that was opened for reading. A Reader is a Reading of a file.
type Reading interface {
	Records

	Marks() Marks
	Files() (Files, error)
	Aside() (bool, error)
	Close() error
}

// A Cluster is a Store that several nodes share, each for a part of the sites at a time. Its
// methods return quickly, except Address.
type Cluster interface {
	// Term, Blocked and Credit are functions for frontier.Options.
	Term(frontier.Site) uint64
	Blocked() <-chan struct{}
	Credit() frontier.Spent

	// May reports whether the node may send requests now. If the node has lost its connection
	// to the database, it may not.
	May() bool

	// Address requests the right to begin requests at a public IP address now. If ok is true,
	// no other node begins requests there until gap has passed. If ok is false, another node
	// has the right until free. Address may block for long.
	Address(addr string, gap time.Duration) (free time.Time, ok bool)

	// Want says that a visit to the site from needs a request to the site to, which another
	// node has. One node then gets both sites for a while. Want does not block.
	Want(from, to frontier.Site)

	// Outage returns the time since which the database does not answer, or the zero time if it
	// answers or has been silent for only a short time.
	Outage() time.Time

	// Declare stores how this node runs, in JSON, until the run ends. It returns what the other
	// nodes that take part in the crawl have declared. Of two nodes that call Declare at the same
	// time, at least one gets the value of the other.
	Declare(how any) (others []json.RawMessage, err error)

	// Order stores a value under key, as Put does, and in the same transaction an order for all
	// nodes. If key is empty, Order stores only the order.
	Order(key string, value, order any) error

	// Hear sets the function that the store calls with each order of this run, in the order in
	// which they were committed. own is true if this process has given the order. A node gets
	// an order before it gets anything that other nodes have committed in the same transaction
	// or later. Hear must be called before Join. If hear returns an error, the node stops
	// working.
	Hear(hear func(order []byte, own bool) error)

	// Join makes the node take sites, which Grown then reports. Join tells f to withdraw from
	// sites, and when the crawl has ended. longest is the longest time that a request takes.
	Join(f Shared, longest time.Duration)
}

// A Shared has the methods of the node's frontier.Frontier that a Cluster calls, and returns
// the limits in force.
type Shared = interface {
	Withdraw(context.Context) ([]frontier.Site, error)
	End(error) error
	Rest() frontier.Rest
	Limits() frontier.Limits // Pages and Bytes limit the whole crawl; if Open is set, the crawl does not end
}

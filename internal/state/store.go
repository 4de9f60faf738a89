package state

import (
	"context"
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

	Fate(frontier.URL) (frontier.Fate, bool, error)
	Entry(frontier.URL) (Kept, bool, error)
	Entries(frontier.Site) iter.Seq2[Kept, error]
	Names() iter.Seq2[frontier.Site, error]
	Ahead(Kept) (int, error)
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error]
	Snapshots(frontier.Site) iter.Seq2[*robots.Snapshot, error]

	Get(key string, value any) (bool, error)
	Keys(prefix string) iter.Seq2[string, error]
	Put(key string, value any) error
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
	Fate(frontier.URL) (frontier.Fate, bool, error)
	Entry(frontier.URL) (Kept, bool, error)
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

// A Cluster is a Store that several nodes use. A node has some of the sites at a time.
type Cluster interface {
	// Term, Blocked and Credit are for frontier.Options.
	Term(frontier.Site) uint64
	Blocked() <-chan struct{}
	Credit() frontier.Spent

	// May reports whether the node may send bytes to sites now.
	May() bool

	// Address asks for the right to begin requests at a public address now. Other nodes begin
	// none before gap has passed. If ok is false, another node has the right, until free. Address
	// may take long.
	Address(addr string, gap time.Duration) (free time.Time, ok bool)

	// Want says that a visit to the first site needs a request to the second, which another node
	// has. For a while one node then has both. Want is quick.
	Want(from, to frontier.Site)

	// Alone reports whether no other node takes part in the crawl.
	Alone() (bool, error)

	// Order stores a value, as Put does, and in the same transaction an order for all nodes. If
	// key is empty, it stores the order only.
	Order(key string, value, order any) error

	// Hear makes the store call hear with the orders of this run, in the order in which they were
	// committed; own says that this process has given the order. A node hears an order before it
	// is handed what other nodes have committed in the same transaction or later. Hear must be
	// called before Join. An error of hear ends the work of the node.
	Hear(hear func(order []byte, own bool) error)

	// Join begins to take sites, which are reported by Grown. The frontier is told to withdraw
	// from sites, and when the crawl has ended. A request is under way for at most longest.
	Join(f Shared, longest time.Duration)
}

// A Shared is a frontier.Frontier of one node, with the limits in force.
type Shared = interface {
	Withdraw(context.Context) error
	End(error) error
	Rest() frontier.Rest
	Limits() frontier.Limits // Pages and Bytes of the whole crawl; if Open is set, the crawl does not end
}

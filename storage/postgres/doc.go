// Package postgres keeps the state of a crawl in a PostgreSQL database, so that several machines
// can work on one crawl. Each machine runs a node: a process with a directory of its own, into
// which it writes its pages and its archive. The data that all nodes need is in the database: the
// queue, the known URLs, the fate of each URL, the clocks of the sites, and the copies of
// robots.txt.
//
// Begin with [New], and set crawler.Options.State to the result. Every node must use the same
// options and the same database. If a node is killed, start it again with the same directory;
// until then the other nodes do its work. For a crawl on one machine, the state in a file (the
// default) is faster and needs no server.
//
// # Partitions
//
// A site belongs to the partition of its registrable domain. Each partition belongs to one node,
// and only this node makes requests to its sites. A node that joins gets partitions from the
// others. A node that ends gives its partitions back.
//
// Each node has one session: a row with the end of its lease. A node that has not renewed its
// lease in time makes no more requests. After the end of the lease, another node deletes the row
// and takes the partitions. The first statement of every transaction of a node updates its row. So
// a node whose row was deleted cannot commit anything.
//
// # Errors
//
// While the server cannot be reached, no request begins, and commits are repeated. A node ends
// with [ErrSession] if it has lost its session, or if the database has lost acknowledged commits
// (for example because a standby was promoted). Start the node again; nothing is lost.
//
// A node records in its directory which commits the database has acknowledged. If the database
// lacks only the last minutes, the node continues. Its next run first copies its later data to a
// directory forgotten-TIME, and then cuts its files. If the database lacks more, because a backup
// was restored, the node is refused until the user permits it.
//
// PostgreSQL 13 or newer is needed. Errors and files do not contain the password of the connection
// string. Times in the database are by the clock of the server.
package postgres

// Package postgres keeps the state of a crawl in a PostgreSQL database, so that several machines
// can work on one crawl. Each machine runs a node: a process with a directory of its own, where
// it writes the pages and the archive. What all nodes need is in the database: the queue, the
// known URLs, what became of each URL, the clocks of the sites, and the copies of robots.txt.
//
// Begin with [New], and give the result to crawler.Options.State. Every node uses the same
// options and the same database. A node that is killed is started again with the same directory;
// until then the other nodes do its work. For a crawl on one machine the state in a file, which is
// the default, is faster and needs no server.
//
// # Partitions
//
// A site belongs to the partition of its registrable domain. A node has some of the partitions,
// and only this node makes requests to their sites. A node that joins gets partitions from the
// others; when a node ends, it gives its partitions back.
//
// Each node has one session, a row with the end of its lease. A node that has not renewed its
// lease in time makes no more requests. After the end of the lease another node deletes the row
// and takes the partitions. The first statement of every transaction of a node updates its row,
// so a node whose row was deleted cannot commit anything.
//
// # Errors
//
// While the server cannot be reached, no request begins, and commits are repeated. A node that
// has lost its session, or finds that the database has lost commits that were acknowledged (for
// example because a standby was promoted), ends with [ErrSession]. Start it again; nothing is
// lost.
//
// A node notes in its directory what the database has acknowledged. If the database lacks the last
// minutes of it, the node goes on, and the next run copies what was forgotten to a directory
// forgotten-TIME before it cuts the files. If the database lacks more, because a backup was
// restored, the node is refused until the user allows it.
//
// PostgreSQL 13 or newer is needed. Passwords of the connection string are in no error and no
// file. Times in the database are times of its clock.
package postgres

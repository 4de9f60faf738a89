// Package machine keeps the clocks that all crawls of one machine share: the times before which no
// process requests anything from a site or an address.
//
// [Open] the table at [DefaultPath], and share it with each crawl of the process, by the option
// Shared of a crawler.Options, a fetch.ClientOptions or a [frontier.Options]. Call [Table.Close]
// after the last crawl has ended. A [Table] is safe for concurrent use. Several processes may use
// the file at the same time.
//
// # Errors
//
// [Open] returns an error of the file system, for example if the disk is full. It also returns an
// error if the file is longer than a table: such a file is not a table and must be removed. After
// Open nothing fails. If another program truncates the file, or after Close, every reservation
// succeeds. Each crawl then still keeps its own pauses, but no longer those of other crawls.
//
// # The table
//
// The clocks are a table in a file of 8 MiB that every process maps into its memory. The hash of
// a name (of a site, host, address or domain) is the index of its place in the table. A place
// holds a time, in one number. The lowest bit of the number is set if the time is the end of a
// lease, which means that a request is under way. A process reserves a place with one atomic
// compare-and-swap, so no process waits for another one's access to the table. If two names have
// the same place, they can only delay each other. A process that is killed leaves nothing in the
// table but times, which expire. A time of more than a day from now is ignored, because only a
// process with a wrong clock writes it.
//
// The path follows the XDG Base Directory Specification.
package machine

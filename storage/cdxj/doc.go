// Package cdxj writes and reads CDXJ: the index of a web archive, one line per capture, sorted by
// its bytes.
//
//	com,example)/path?query 20300102030405 {"url": ..., "mime": ..., ...}
//
// The key is a [SURT]. It sorts the hosts of a domain next to each other, and also the pages of a
// host. The time is that of WARC-Date, to the second. In the JSON object, status, length and
// offset are strings, as readers expect.
//
// Where to start:
//
//   - To look up a URL in an index, call [Find], then warc.ReadAt with the offset of the [Entry].
//   - To index WARC files, call [Index] for each, and add the entries to a [Sorter], which sorts
//     any number of lines in bounded memory. [EntryOf] makes an entry while a file is written.
//   - To read a whole index, call [Parse] for each line. [Entry.Append] writes a line.
//
// # Errors
//
// If a record of a WARC file is damaged, [Index] yields a [*warc.Error] with the offset of the
// record, and continues. If a line of an index is malformed, [Find] yields an error and continues.
// [Parse] and [Entry.Append] fail for a malformed line or entry. A Sorter fails for a line that is
// longer than [MaxLine]. All other errors are those of the reader, the writer or the temporary
// files.
//
// # Concurrency
//
// The functions may be called from several goroutines. A Sorter must be used by one at a time.
//
// # Sources
//
// The format is that of https://specs.webrecorder.net/cdxj/0.1.0/. The order of the lines is that
// of LC_ALL=C sort.
package cdxj

// Package warc writes and reads WARC files: ISO 28500:2017, which is WARC 1.1.
// Section numbers in this package are those of
// https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
//
// # Writing
//
// An [Encoder] turns one [Exchange] into records: the answer (response, revisit or resource),
// the request, and a metadata record, linked by WARC-Concurrent-To (section 5.7). Each record
// is a gzip member of its own (annex D), so that it can be read by its offset alone. The
// result is a sequence of bytes that is valid at any place of a file. So many goroutines can
// make such sequences at once. The owner of the file appends each sequence as a whole; it adds
// the length of the file before the sequence to the offsets in [Placed].
//
// A file begins with a warcinfo record, from [Encoder.AppendInfo]. The records that follow
// name it if [Exchange.InfoID] is set.
//
// # Reading
//
// A [Reader] reads a file, compressed or not, WARC 1.0 or 1.1, record by record, in memory
// that does not depend on the size of the file; [ReadAt] reads one record by its offset. ARC
// files are read as if they were WARC files. If a record violates the format, the error is an
// [*Error] with the offset of the record in bytes; [Reader.Skip] then finds the next record.
//
// # Reading the source
//
// field.go has the named fields, http.go makes blocks from HTTP messages, encode.go makes the
// records of an exchange, record.go writes one, and short.go compresses short records.
// read.go reads records, arc.go reads records of ARC files, and verify.go checks digests.
package warc

// Package warc writes and reads WARC files: ISO 28500:2017, which is WARC 1.1.
// Section numbers in this package are those of
// https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
//
// # Writing
//
// An [Encoder] turns one [Exchange] into records: the answer (response,
// revisit or resource), the request, and a metadata record, tied together by
// WARC-Concurrent-To (section 5.7). Each record is a gzip member of its own
// (annex D), so that any of them can be read by its offset alone. The result is
// a run of bytes that may stand anywhere in a file: many goroutines build such
// runs at once, and whoever owns the file appends each run whole and adds the
// file's length before it to the offsets in [Placed].
//
// A file begins with a warcinfo record, from [Encoder.AppendInfo]. The records
// that follow name it where [Exchange.InfoID] is set.
//
// # Reading
//
// A [Reader] goes through a file, compressed or not, WARC 1.0 or 1.1, record by
// record, with memory that does not depend on what it reads; [ReadAt] reads one
// record by its offset. ARC files are read as if they were WARC files. What breaks the format is an [*Error] with the byte
// offset of the record; [Reader.Skip] then goes on with the next one.
//
// # Reading the source
//
// field.go has the named fields, http.go says how an HTTP message becomes a
// block, encode.go makes the records of an exchange, record.go writes one, and short.go
// compresses the short ones. read.go takes them apart, arc.go those of ARC files, and
// verify.go computes their digests again.
package warc

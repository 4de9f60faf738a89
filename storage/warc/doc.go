// Package warc writes and reads WARC files: ISO 28500:2017, which is WARC 1.1. Section
// numbers in this package are those of
// https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
//
// Where to start:
//
//   - To write a file, call [NewEncoder], then [Encoder.WriteInfo] once and
//     [Encoder.WriteExchange] for each request with its answer.
//   - To read a file, call [NewReader], then [Reader.Next] until io.EOF. [Record.Response] has
//     the HTTP answer of a record, [Record.Fields] the fields of a metadata record.
//   - To read one record whose offset is known, call [ReadAt]. The offset is in the index
//     of the archive (package cdxj), or in a [Placed].
//   - To check a file, call [Record.Verify] for each record.
//
// # Writing
//
// An Encoder turns one [Exchange] into records: the answer (response, revisit or resource), the
// request, and a metadata record. The field WARC-Concurrent-To links them (section 5.7). Each
// record is a gzip member of its own (annex D), so that it can be read at its offset. The result
// is a sequence of bytes that is valid at any place of a file. So many goroutines can make such
// sequences at the same time, with [Encoder.AppendExchange]. The owner of the file appends each
// sequence as a whole. It must add the length of the file before the sequence to the offsets in
// Placed.
//
// A file begins with a warcinfo record, from [Encoder.AppendInfo] or WriteInfo. The records that
// follow name it if the InfoID of the Exchange is set.
//
// # Reading
//
// A Reader reads a file, compressed or not, WARC 1.0 or 1.1, record by record, in memory
// that does not depend on the size of the file. ARC files are read as if they were WARC files.
// The block of a record can be read once, and only until the next call of Next.
//
// # Errors
//
// If a record cannot be read, the error is an [*Error] with the offset of the record in bytes. To
// continue, call [Reader.Skip], which finds the next record. If the file ends within the record,
// as after a crash, the error wraps [ErrCut], and all earlier records are complete. Record.Verify
// returns an *Error that wraps [ErrDigest] if the content of a record is not what was written. The
// Reader can continue after it without Skip.
//
// An Encoder fails if an Exchange cannot be written as records, for example because it has no URL.
// It also returns the error of its writer.
//
// # Concurrency
//
// An [Encoder] is safe for concurrent use, and so is ReadAt with one io.ReaderAt. A [Reader] and
// its records must be used by one goroutine at a time.
package warc

// Reading the source: field.go has the named fields, http.go makes blocks from HTTP messages,
// encode.go makes the records of an exchange, record.go writes one, and short.go compresses short
// records. read.go reads records, arc.go reads records of ARC files, and verify.go checks digests.

// Package feed keeps the parts of a page that changes, and hands the changes to many readers.
// A Feed does work only while it has readers, and all readers share the work: the number of
// readers and their speed do not matter to it. A reader that is slow misses versions of a part,
// but never the last one.
package feed

// Package looks has the looks of what the command prints: styles, a bar, a table, and lines
// that end at word limits. It measures text in columns of a terminal, where a wide character
// takes two. It knows nothing about crawls, and writes nothing.
package looks

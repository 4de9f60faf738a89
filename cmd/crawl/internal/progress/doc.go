// Package progress shows how far a crawl is: while it runs (View, Events), at its end
// (Summary), and when another process asks (StatusLines). Each has a form for people and one
// for programs, and all of them have the same figures. The names in JSON are never changed.
package progress

// Package progress shows how far a crawl is: while it runs (View, Events), at its end
// (Summary), and when another process asks (StatusLines). Each of these has a form for
// people and a form for programs, and all have the same figures. The names in JSON are never
// changed.
package progress

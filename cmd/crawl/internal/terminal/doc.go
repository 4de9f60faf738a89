// Package terminal knows whether a file is a terminal and how wide it is, and keeps a block
// of lines at the end of its text.
package terminal

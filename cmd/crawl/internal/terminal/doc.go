// Package terminal finds out whether a file is a terminal and how wide the terminal is. It
// also keeps a block of lines at the end of the terminal's text.
package terminal

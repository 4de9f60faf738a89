// Package say makes the texts that the command prints: figures and times in words, lines
// that fit the terminal, and JSON. What a site or a file has said cannot control a terminal
// that shows it, and cannot look like a line of the command.
package say

// Package say makes the texts that the command prints: figures and times in words, lines
// that fit the terminal, and JSON. Text from a site or a file cannot control the terminal
// that shows it, and cannot look like a line of the command.
package say

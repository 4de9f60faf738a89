package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// say prints a line of what was asked for.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(p.out, oneLine(fmt.Sprintf(format, args...)))
	return err
}

// note prints a line beside what was asked for.
func (p *program) note(format string, args ...any) {
	fmt.Fprintln(p.err, oneLine(fmt.Sprintf(format, args...)))
}

// packagePrefix is how an error of the library begins, in the Go manner.
var packagePrefix = regexp.MustCompile(`(^|: |\n)(?:crawler|robots|frontier|fetch|storage|series|schedule): `)

// withoutPackages is an error without the names of the packages that it comes from.
func withoutPackages(text string) string { return packagePrefix.ReplaceAllString(text, "$1") }

// object prints a line of JSON. What could steer a terminal is escaped in it: a
// program reads the same texts.
func (p *program) object(v any) error { return writeObject(p.out, v) }

func writeObject(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, escaped(line.String()))
	return err
}

// escaped is JSON in which nothing could steer a terminal.
func escaped(line string) string {
	var text strings.Builder
	for _, r := range line {
		if !steers(r) {
			text.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return text.String()
}

// oneLine is printable, and no second line stands in it: what a site or a file
// says could look like a line of the command.
func oneLine(s string) string {
	return strings.ReplaceAll(printable(s), "\n", " ")
}

// indented is printable, and its further lines do not look like those of the
// command.
func indented(s string) string {
	return strings.ReplaceAll(printable(s), "\n", "\n"+strings.Repeat(" ", len("crawl: ")))
}

// printable leaves out what could steer the terminal of who looks at it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return -1
		}
		return r
	}, s)
}

// steers reports whether a terminal could take r for a command, or a part of one.
func steers(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

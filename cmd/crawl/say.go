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

// say prints a line on standard output.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(p.out, oneLine(fmt.Sprintf(format, args...)))
	return err
}

// note prints a line on standard error.
func (p *program) note(format string, args ...any) {
	fmt.Fprintln(p.err, oneLine(fmt.Sprintf(format, args...)))
}

// packagePrefix matches the beginning of an error of the library, as Go errors have it.
var packagePrefix = regexp.MustCompile(`(^|: |\n)(?:crawler|robots|frontier|fetch|storage|series|schedule): `)

// withoutPackages removes the names of packages from the text of an error.
func withoutPackages(text string) string { return packagePrefix.ReplaceAllString(text, "$1") }

// object prints a line of JSON. Characters that could control a terminal are escaped;
// programs read the same texts.
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

// escaped escapes in JSON what could control a terminal.
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

// oneLine is like printable, and replaces line ends, because a further line of what a site
// or a file says could look like a line of the command.
func oneLine(s string) string {
	return strings.ReplaceAll(printable(s), "\n", " ")
}

// indented is like printable, and indents further lines, so that they do not look like
// lines of the command.
func indented(s string) string {
	return strings.ReplaceAll(printable(s), "\n", "\n"+strings.Repeat(" ", len("crawl: ")))
}

// printable removes what could control a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return -1
		}
		return r
	}, s)
}

// steers reports whether a terminal could read r as a control character, or as part of a
// control sequence.
func steers(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

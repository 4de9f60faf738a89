package say

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
)

// packagePrefix matches the beginning of an error of the library, as Go errors have it.
var packagePrefix = regexp.MustCompile(`(^|: |\n)(?:crawler|robots|frontier|fetch|storage|series|schedule): `)

// WithoutPackages removes the names of packages from the text of an error.
func WithoutPackages(text string) string { return packagePrefix.ReplaceAllString(text, "$1") }

// Object writes v as a line of JSON. It escapes characters that could control a terminal.
// A program that reads the JSON gets the unchanged texts.
func Object(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, Escaped(line.String()))
	return err
}

// Escaped escapes the characters in a JSON text that could control a terminal.
func Escaped(line string) string {
	var text strings.Builder
	for _, r := range line {
		if !Steers(r) {
			text.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return text.String()
}

// OneLine is like Printable, and also replaces line ends. If it did not, a second line in the
// text of a site or a file could look like a line that the command has printed.
func OneLine(s string) string {
	return strings.ReplaceAll(Printable(s), "\n", " ")
}

// Indented is like Printable, and also indents the lines after the first, so that they do not
// look like lines that the command has printed.
func Indented(s string) string {
	return strings.ReplaceAll(Printable(s), "\n", "\n"+strings.Repeat(" ", len("crawl: ")))
}

// Printable removes characters that could control a terminal.
func Printable(s string) string { return looks.Printable(s) }

// Steers reports whether a terminal could read r as a control character, or as part of a
// control sequence.
func Steers(r rune) bool { return looks.Steers(r) }

// ShellQuoted returns a word quoted for a shell.
func ShellQuoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

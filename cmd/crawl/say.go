package main

import (
	"fmt"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
)

// say prints a line on standard output.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(p.out, say.OneLine(fmt.Sprintf(format, args...)))
	return err
}

// note prints a line on standard error.
func (p *program) note(format string, args ...any) {
	fmt.Fprintln(p.err, say.OneLine(fmt.Sprintf(format, args...)))
}

// object prints a line of JSON. Characters that could control a terminal are escaped;
// programs read the same texts.
func (p *program) object(v any) error { return say.Object(p.out, v) }

// Command crawlbench compares crawlers on a web that it makes itself.
//
//	crawlbench run
//	crawlbench run --scenario engine,politeness --rounds 5 --markdown bench.md --svg bench.svg
//	crawlbench run --hosts 3 --size 200000 --latency 50ms
//	crawlbench ab --rounds 12 --contestants permesso,permesso-warc OLD NEW
//	crawlbench frontier --urls 10000000
//	crawlbench client
//	crawlbench behave
//	crawlbench web --hosts 1000 --pages 1000 --listen 127.0.0.1:8080
//
// Figures depend on the machine, and on its other load. Compare only figures of the same table.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// A command is a sub-command.
type command struct {
	name, help string
	run        func(ctx context.Context, args []string, out io.Writer) error
}

func commands() []command {
	return []command{
		{"run", "measure the contestants and print a table", runBench},
		{"ab", "compare two builds of this program, run by run", runAB},
		{"web", "serve the web alone, for any crawler", runWeb},
		{"frontier", "measure the frontier and the state file without a web", runFrontier},
		{"readers", "measure the commands that read a whole crawl", runReaders},
		{"client", "measure fetch.Client beside net/http", runClient},
		{"behave", "ask the contestants how they behave", runBehave},
		{childCommand, "", runChild},
		{clientCommand, "", runClientChild},
		{sealCommand, "", runSeal},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && err != flag.ErrHelp {
		fmt.Fprintln(os.Stderr, "crawlbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return c.run(ctx, args[1:], out)
			}
		}
	}
	fmt.Fprintln(out, "crawlbench measures crawlers. Commands (-h lists the flags of one):")
	for _, c := range commands() {
		if c.help != "" {
			fmt.Fprintf(out, "  %-10s %s\n", c.name, c.help)
		}
	}
	if len(args) > 0 && args[0] != "help" && args[0] != "-h" && args[0] != "--help" {
		return fmt.Errorf("unknown command %q", args[0])
	}
	return nil
}

// Command crawl crawls politely: a seed file in, pages out.
//
//	crawl run seeds.txt
//	crawl demo
//	crawl robots test --file robots.txt --agent mybot /a /b
package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func main() {
	// net/http reports odd servers to the standard logger. That is not needed, because
	// crawl.log has them.
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// A program is one call of the command: where it reads and writes.
type program struct {
	in       io.Reader
	out, err io.Writer
	exit     func(code int)   // ends the process at once, even if a goroutine hangs in the kernel
	network  fetch.Network    // nil means the network of this machine
	roots    *x509.CertPool   // certificates to verify servers with, in crawl identity verify; nil means those of the system
	events   *progress.Events // nil if messages are for people
	columns  int              // width of the terminal of another process that shows the output; if 0, the width of out counts
	colours  bool             // whether that terminal shows colours
	control  bool             // whether a crawl opens a control socket; false in tests with virtual time
}

// run is main, but it returns the exit code and does not end the process.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	p := &program{in: in, out: out, err: errOut, exit: os.Exit, control: true}
	root := p.root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // includes the request for completions without descriptions
		setCompletion(root)
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(context.Background())
	if err != nil && err.Error() != "" {
		fmt.Fprintf(p.err, "crawl: %s\n", say.Indented(say.WithoutPackages(exit.WithMend(err, cmd.Name() == "run"))))
	}
	code := exit.Code(err)
	if code == exit.DiskFull {
		fmt.Fprintln(p.err, "crawl: "+exit.MendLimit(err, cmd.Name() == "run"))
	}
	if p.events != nil {
		p.events.Last(code)
	}
	return code
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "crawl",
		Short: "a polite web crawler",
		Long: `crawl fetches the pages of sites politely: it reads robots.txt first,
waits between two requests, and continues where it stopped, even after a kill.

` + exit.Help(),
		Example: `Try it without any network:
  crawl demo

Crawl a site into example.com.crawl; the same command continues it later:
  crawl run --name mybot --contact you@example.org https://example.com/

Why was a page not fetched?
  crawl explain https://example.com/missing

May a crawler fetch it?
  crawl robots test --site https://example.com/ --agent mybot /private/`,
		Version:       crawler.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.PersistentPreRun = sweepSockets
	root.SetVersionTemplate("crawl (permesso) {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		p.runCommand(), p.checkCommand(), p.initCommand(), p.demoCommand(),
		p.listCommand(), p.explainCommand(), p.diffCommand(), p.reportCommand(), p.auditCommand(), p.provenanceCommand(), p.statusCommand(), p.serveCommand(),
		p.robotsCommand(), p.exportCommand(), p.verifyCommand(), p.repairCommand(), p.indexCommand(), p.collectCommand(),
		p.identityCommand(), p.optOutCommand(), p.scheduleCommand(), p.completionCommand(), p.manCommand(), p.versionCommand(),
	)
	root.AddCommand(p.steerCommands()...)
	p.setHelp(root)
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// sweepSockets removes the sockets that killed runs have left in the crawls named by args
// or --dir, and in the snapshots of a series.
func sweepSockets(cmd *cobra.Command, args []string) {
	if dir := cmd.Flags().Lookup("dir"); dir != nil {
		args = append(slices.Clip(args), dir.Value.String())
	}
	for _, dir := range args {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		control.Sweep(dir)
		snapshots, err := series.Series{Dir: dir}.Snapshots()
		if err != nil || crawldir.Exists(filepath.Join(dir, store.StateFile)) {
			continue
		}
		for _, s := range snapshots {
			control.Sweep(s.Dir)
		}
	}
}

// lines returns a printer that writes labelled lines to standard output.
func (p *program) lines() *say.Lines {
	return &say.Lines{W: p.out, Width: p.width(), Colours: p.colours || terminal.Colours(p.out)}
}

// say prints a line on standard output.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(p.out, say.OneLine(fmt.Sprintf(format, args...)))
	return err
}

// sayAll prints each of the lines as say does.
func (p *program) sayAll(lines []string) error {
	for _, line := range lines {
		if err := p.say("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// note prints a line on standard error.
func (p *program) note(format string, args ...any) {
	fmt.Fprintln(p.err, say.OneLine(fmt.Sprintf(format, args...)))
}

// object prints a line of JSON. Characters that could control a terminal are escaped. A program
// that reads the JSON gets the unchanged texts.
func (p *program) object(v any) error { return say.Object(p.out, v) }

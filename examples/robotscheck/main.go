// Command robotscheck prints for each URL of a list whether robots.txt allows a crawler to
// request it, and which line decides. It uses no network.
//
//	wget --force-directories --protocol-directories -P sites https://example.org/robots.txt
//	go run ./examples/robotscheck examplebot sites < urls.txt
//
// The robots.txt of https://example.org is https/example.org/robots.txt in the directory. With
// - in place of the directory, the robots.txt of one site is read from standard input, and the
// URLs are arguments:
//
//	go run ./examples/robotscheck examplebot - https://example.org/page < robots.txt
//
// The exit code is that of grep: 0 if a URL is allowed, 1 if no URL is, and 2 after an error,
// such as a site whose robots.txt is missing. The command keeps nothing, so after a kill it
// begins again.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	allowed, err := run(os.Args[1:], os.Stdin, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case allowed == 0:
		os.Exit(1)
	}
}

// run returns the number of URLs that are allowed. A URL with an error does not affect the
// others.
func run(args []string, in io.Reader, out io.Writer) (allowed int, err error) {
	if len(args) < 2 || (args[1] == "-") != (len(args) > 2) {
		return 0, errors.New("usage: robotscheck TOKEN DIRECTORY < URLS\n       robotscheck TOKEN - URL... < ROBOTS")
	}
	if err := robots.CheckToken(args[0]); err != nil {
		return 0, err
	}
	s := sites{token: args[0], dir: os.DirFS(args[1]), groups: map[string]*robots.Group{}}
	if args[1] == "-" {
		body, err := io.ReadAll(in)
		if err != nil {
			return 0, err
		}
		at, err := robots.Locate(args[2])
		if err != nil {
			return 0, err
		}
		s.groups[at] = s.parse(at, body)
		in = strings.NewReader(strings.Join(args[2:], "\n"))
	}
	var failed []error
	urls := bufio.NewScanner(in)
	for urls.Scan() {
		g, err := s.group(urls.Text())
		if err != nil {
			failed = append(failed, err)
			continue
		}
		v := g.MatchURL(urls.Text())
		why := v.Reason.String()
		if v.Rule.Line > 0 {
			why = fmt.Sprintf("line %d: %v", v.Rule.Line, v.Rule)
		}
		if v.Allowed() {
			allowed++
		}
		fmt.Fprintf(out, "%v\t%s\t%s\n", v.Access, urls.Text(), why)
	}
	return allowed, errors.Join(append(failed, urls.Err())...)
}

// sites has the rules of each site for one crawler.
type sites struct {
	token  string
	dir    fs.FS
	groups map[string]*robots.Group // by the URL of robots.txt
}

// group returns the rules for a URL.
func (s *sites) group(url string) (*robots.Group, error) {
	at, err := robots.Locate(url)
	if err != nil || s.groups[at] != nil {
		return s.groups[at], err
	}
	body, err := fs.ReadFile(s.dir, strings.Replace(at, "://", "/", 1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	s.groups[at] = s.parse(at, body)
	return s.groups[at], nil
}

func (s *sites) parse(at string, body []byte) *robots.Group {
	return robots.ParseFor(at, body, robots.RFC9309).Group(s.token)
}

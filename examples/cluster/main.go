// Command cluster prints the titles of pages, on several machines. Each machine runs it with a
// directory of its own and the same database:
//
//	createdb titles
//	go run ./examples/cluster --state postgres:///titles --dir node1.crawl https://example.org/
//
// With --status it prints how far the whole crawl is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

func main() {
	url := flag.String("state", "", "`URL` of the database")
	dir := flag.String("dir", "", "`directory` of this node")
	status := flag.Bool("status", false, "print how far the whole crawl is")
	flag.Parse()
	state, err := postgres.New(*url)
	if err != nil {
		log.Fatal(err)
	}
	if *status {
		err = printStatus(os.Stdout, state)
	} else {
		err = node(context.Background(), crawler.Options{
			Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
			Seeds:    flag.Args(),
			Dir:      *dir,
			State:    state, // without it, the state is in a file, and the crawl on one machine
		}, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// node runs a node until the whole crawl has ended. If the session of the node is over, because it
// stood still or the database has lost commits, node begins a new one.
func node(ctx context.Context, o crawler.Options, out io.Writer) error {
	for {
		c, err := crawler.New(o)
		if err == nil {
			err = c.Run(ctx, crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
				_, err := fmt.Fprintln(out, p.Status, p.URL, p.Title())
				return err
			}))
		}
		if !errors.Is(err, postgres.ErrSession) {
			return err
		}
	}
}

// printStatus prints how far the crawl is. Nodes may run meanwhile.
func printStatus(out io.Writer, state storage.State) error {
	s, err := crawler.StatusOf(state)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d of %d known URLs, %d sites have some left\n", s.Crawl.Done, s.Crawl.Known, s.Sites.Left)
	return err
}

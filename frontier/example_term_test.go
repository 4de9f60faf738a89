package frontier_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"sync/atomic"

	"github.com/permesso-crawler/permesso/frontier"
)

// A part is a backlog for the sites of one group, as long as its term lasts. It stores in memory
// what a real backlog stores in a database that other processes use, too.
type part struct {
	frontier.Memory
	growths frontier.Growths
	term    atomic.Pointer[frontier.Term]
}

// Term is used as Options.Term. In this example all sites are in one group.
func (p *part) Term(frontier.Site) uint64 {
	if t := p.term.Load(); t != nil {
		return t.Number
	}
	return 0
}

// begin begins a term and reports the states of the given sites in a Growth.
func (p *part) begin(term frontier.Term, sites ...frontier.Site) {
	g := frontier.Growth{Terms: []uint64{term.Number}}
	for _, s := range sites {
		st, err := p.Memory.State(s)
		if err != nil {
			log.Fatal(err)
		}
		st.Term = &term
		g.Sites = append(g.Sites, st)
	}
	p.term.Store(&term)
	p.growths.Put(g)
}

// Sites yields nothing: all sites come later, in a Growth.
func (p *part) Sites() iter.Seq2[frontier.SiteState, error] {
	return func(func(frontier.SiteState, error) bool) {}
}

func (p *part) Grown() <-chan frontier.Growth { return p.growths.C() }

func (p *part) State(s frontier.Site) (frontier.SiteState, error) {
	st, err := p.Memory.State(s)
	st.Term = p.term.Load()
	return st, err
}

func (p *part) Submit(c frontier.Completion) error {
	if err := p.Memory.Submit(c); err != nil {
		return err
	}
	g := <-p.Memory.Grown()
	for i := range g.Sites {
		g.Sites[i].Term = p.term.Load()
	}
	p.growths.Put(g)
	return nil
}

// A site is given back, and returns in another term. The database then decides that the crawl has
// ended.
func ExampleFrontier_Withdraw() {
	ctx := context.Background()
	p := &part{Memory: frontier.NewMemory()}
	f, err := frontier.New(p, frontier.Options{Delay: -1, Term: p.Term})
	if err != nil {
		log.Fatal(err)
	}
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Memory.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
		log.Fatal(err)
	}
	<-p.Memory.Grown()

	p.begin(frontier.Term{Number: 1}, u.Site())
	fmt.Println(f.Rest().NextDue.IsZero(), f.Stats().Sites)

	p.term.Store(nil)
	if _, err := f.Withdraw(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("given back:", f.Stats().Sites)

	p.begin(frontier.Term{Number: 2}, u.Site())
	turn, err := f.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("End:", f.End(frontier.ErrEnd) != nil)
	if _, err := turn.Finish(answered()); err != nil {
		log.Fatal(err)
	}
	if rest := f.Rest(); rest.Out+rest.Pending+rest.Held == 0 {
		fmt.Println("alone:", rest.Verdict)
	}
	fmt.Println("End:", f.End(frontier.ErrEnd))
	_, err = f.Next(ctx)
	fmt.Println("Next:", err)
	// Output:
	// false 1
	// given back: 0
	// End: true
	// alone: frontier: nothing is left to request
	// End: <nil>
	// Next: frontier: nothing is left to request
}

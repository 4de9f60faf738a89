package frontier

import (
	"errors"
	"fmt"
	"testing"
)

// Growths that were not received are merged in their order, and the last error is kept.
func TestUnreceivedGrowthsAreMerged(t *testing.T) {
	var g Growths
	c := g.C() // C may be called before the first Put
	first, second := errors.New("first"), errors.New("second")
	for _, n := range []Growth{
		{Sites: []SiteState{{Site: "a"}}, Settled: 1},
		{Sites: []SiteState{{Site: "b"}, {Site: "a"}}, Settled: 2, Err: first},
		{Settled: 3},
	} {
		g.Put(n)
	}
	n := <-c
	var told []Site
	for _, st := range n.Sites {
		told = append(told, st.Site)
	}
	if fmt.Sprint(told) != "[a b a]" || n.Settled != 6 || n.Err != first {
		t.Errorf("%+v", n)
	}
	g.Put(Growth{Err: first})
	g.Put(Growth{Err: second})
	if n := <-c; n.Err != second || n.Settled != 0 || len(n.Sites) > 0 {
		t.Errorf("%+v", n)
	}
	select {
	case n := <-c:
		t.Errorf("once more: %+v", n)
	default:
	}
}

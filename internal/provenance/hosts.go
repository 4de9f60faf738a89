package provenance

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// mostCounted is how many sites are counted in memory. The counts of further sites are written
// to temporary files and sorted.
const mostCounted = 4096

// A hostCounts counts requests by site, in bounded memory.
type hostCounts struct {
	most   int
	counts map[frontier.Site]int64
	order  order // counts that were moved out of memory, sorted by host and then by site
}

// An order sorts records on disk. It is a *crawllog.Order; tests replace it by one that fails.
type order interface {
	Add(key, line []byte) error
	Each(f func(key, line []byte) error) error
	Close() error
}

func newHostCounts(by order) hostCounts {
	return hostCounts{mostCounted, map[frontier.Site]int64{}, by}
}

func (h *hostCounts) close() error { return h.order.Close() }

func (h *hostCounts) add(site frontier.Site) error {
	if _, known := h.counts[site]; !known {
		if len(h.counts) >= h.most {
			if err := h.spill(); err != nil {
				return err
			}
		}
		site = frontier.Site(strings.Clone(string(site))) // copy the name, because otherwise the whole line would stay in memory
	}
	h.counts[site]++
	return nil
}

// spill moves all counts from memory to h.order.
func (h *hostCounts) spill() error {
	for site, n := range h.counts {
		key := append(append([]byte(site.Host()), 0), site...)
		if err := h.order.Add(key, binary.AppendUvarint(nil, uint64(n))); err != nil {
			return err
		}
	}
	clear(h.counts)
	return nil
}

// figures sets the numbers of sites and hosts, and the hosts with the most requests.
func (h *hostCounts) figures(f *Figures) error {
	if err := h.spill(); err != nil {
		return err
	}
	var host, site []byte
	f.TopHosts = []Count{}
	err := h.order.Each(func(key, value []byte) error {
		name, of, _ := bytes.Cut(key, []byte{0})
		if f.Hosts == 0 || !bytes.Equal(name, host) {
			if len(f.TopHosts) == 2*mostTop {
				f.TopHosts = mostFrequent(f.TopHosts)
			}
			f.Hosts++
			f.TopHosts = append(f.TopHosts, Count{Name: string(name)})
			host, site = append(host[:0], name...), site[:0]
		}
		if !bytes.Equal(of, site) {
			f.Sites++
			site = append(site[:0], of...)
		}
		n, _ := binary.Uvarint(value)
		f.TopHosts[len(f.TopHosts)-1].N += int64(n)
		return nil
	})
	f.TopHosts = mostFrequent(f.TopHosts)
	return err
}

package botpage

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
)

// An ipList is the list of addresses of a crawler (draft-illyes-webbotauth-jafar-00).
type ipList struct {
	Created  string    `json:"creationTime"` // RFC 3339, in UTC
	Prefixes []ipRange `json:"prefixes"`
}

// An ipRange has exactly one of its fields.
type ipRange struct {
	V4 string `json:"ipv4Prefix,omitempty"`
	V6 string `json:"ipv6Prefix,omitempty"`
}

func listOf(ranges []string, at time.Time) ipList {
	l := ipList{Created: at.UTC().Format(time.RFC3339), Prefixes: []ipRange{}}
	for _, text := range ranges {
		if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
			l.Prefixes = append(l.Prefixes, ipRange{V4: text})
		} else {
			l.Prefixes = append(l.Prefixes, ipRange{V6: text})
		}
	}
	return l
}

// ParseRange returns a range of addresses as an IP list has it, such as 16.0.0.0/24. The text may
// also be a single address. An error says why it cannot be in an IP list.
func ParseRange(text string) (string, error) {
	p, err := netip.ParsePrefix(text)
	if a, aerr := netip.ParseAddr(text); aerr == nil && a.Zone() == "" {
		p, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is neither an IP address nor a range of addresses, such as 2606:4700::/48", text)
	case p.Addr().Is4In6():
		return "", fmt.Errorf("%s is an IPv4 address in the form of IPv6: write it as %s", text, p.Addr().Unmap())
	case p != p.Masked():
		return "", fmt.Errorf("%s has bits after its length: the range is %s", text, p.Masked())
	case !fetch.Public(p.Addr()) || !fetch.Public(last(p)):
		return "", fmt.Errorf("%s is not public: sites never see a request from there", text)
	}
	return p.String(), nil
}

// last returns the last address of p.
func last(p netip.Prefix) netip.Addr {
	raw := p.Addr().AsSlice()
	for i := p.Bits(); i < len(raw)*8; i++ {
		raw[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}

// ParseIPs reads an IP list. It returns an error for an entry that a reader has to ignore.
func ParseIPs(text []byte) ([]netip.Prefix, error) {
	var l ipList
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("it is no IP list: %w", err)
	}
	if at, err := time.Parse(time.RFC3339, l.Created); err != nil || at.Format("Z07:00") != "Z" {
		return nil, fmt.Errorf("its creationTime %q is no time in UTC, such as 2026-11-26T03:00:00Z", l.Created)
	}
	if l.Prefixes == nil {
		return nil, fmt.Errorf(`it is no IP list: the list "prefixes" is missing`)
	}
	all := []netip.Prefix{}
	for i, r := range l.Prefixes {
		p, err := netip.ParsePrefix(r.V4 + r.V6)
		if (r.V4 == "") == (r.V6 == "") || err != nil || p.Addr().Is4() != (r.V4 != "") {
			return nil, fmt.Errorf("entry %d of prefixes has not exactly one range, in ipv4Prefix or ipv6Prefix", i+1)
		}
		all = append(all, p)
	}
	return all, nil
}

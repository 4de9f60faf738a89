package state

import "github.com/permesso-crawler/permesso/frontier"

// The functions below encode values in the form of the state file. Other implementations of
// Store use them.

// EncodeClocks returns encoded clocks.
func EncodeClocks(c *frontier.Clocks) []byte { return appendClocks(nil, c) }

// DecodeClocks returns the clocks in b. Empty clocks may also be encoded as no bytes.
func DecodeClocks(b []byte) (c frontier.Clocks, err error) {
	if len(b) == 0 {
		return c, nil
	}
	d := decoder{b: b}
	c = d.clocks()
	return c, d.err()
}

// EncodeSpent returns the encoded cost of a site.
func EncodeSpent(s frontier.Spent) []byte { return appendSpent(nil, s) }

// DecodeSpent returns the cost in b. No cost may also be encoded as no bytes.
func DecodeSpent(b []byte) (s frontier.Spent, err error) {
	if len(b) == 0 {
		return s, nil
	}
	d := decoder{b: b}
	s = d.spent()
	return s, d.err()
}

// EncodeFate returns an encoded fate.
func EncodeFate(f *frontier.Fate) []byte { return appendFate(nil, f) }

// DecodeFate returns the fate in b. The fate of an entry that has not ended may also be encoded
// as no bytes.
func DecodeFate(b []byte) (f frontier.Fate, err error) {
	if len(b) == 0 {
		return f, nil
	}
	d := decoder{b: b}
	f = d.fate()
	return f, d.err()
}

// EncodeVisits returns encoded visits with their last fate.
func EncodeVisits(v *frontier.Visits) []byte { return appendFate(appendVisits(nil, v), &v.Last) }

// DecodeVisits returns the visits in b.
func DecodeVisits(b []byte) (*frontier.Visits, error) {
	d := decoder{b: b}
	v := d.visits()
	v.Last = d.fate()
	return v, d.err()
}

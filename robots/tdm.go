package robots

import (
	"strings"
	"unicode/utf8"
)

// TDM holds the statements of an answer about text and data mining, from the
// header fields tdm-reservation and tdm-policy, or from meta elements of these
// names (TDM Reservation Protocol, final report of a W3C Community Group). The
// zero value states nothing.
//
// For the file that the protocol also defines, see TDMRep.
type TDM struct {
	Mining Stance // Refused: the site reserves the right (tdm-reservation is 1); Granted: it does not (0)
	Policy string // URL of the terms for mining; "" if none exists
}

// maxPolicy is the length of the longest URL of a policy, in octets.
const maxPolicy = 2048

// headerTDM parses the tdm-reservation and tdm-policy fields of an answer. Each element of the
// arguments is the value of one field line. By the protocol, a reservation with a value other
// than 0 or 1 counts as missing. If there are several reservations, the most restrictive
// counts.
func headerTDM(reservation, policy []string) TDM {
	var d TDM
	for _, v := range reservation {
		d = d.Merge(TDM{Mining: reservationOf(v)})
	}
	for _, v := range policy {
		d = d.Merge(TDM{Policy: policyOf(v)})
	}
	return d
}

// MetaTDM parses the content of a meta element. It returns the zero value if name is neither
// tdm-reservation nor tdm-policy.
func MetaTDM(name, content string) TDM {
	switch name = trim(name); {
	case equalFold(name, "tdm-reservation"):
		return TDM{Mining: reservationOf(content)}
	case equalFold(name, "tdm-policy"):
		return TDM{Policy: policyOf(content)}
	}
	return TDM{}
}

// Merge returns a TDM with the more restrictive Mining of d and o. Its Policy is that of d, or
// that of o if d has none.
func (d TDM) Merge(o TDM) TDM {
	d.Mining = max(d.Mining, o.Mining)
	if d.Policy == "" {
		d.Policy = o.Policy
	}
	return d
}

// reservationOf parses one value of tdm-reservation. The value may be a list, because a proxy may
// have joined several fields.
func reservationOf(value string) Stance {
	all, unclear := unstated, false
	for v := range strings.SplitSeq(value, ",") {
		switch trim(v) {
		case "1":
			all = Refused
		case "0":
			all = max(all, Granted)
		default:
			unclear = true
		}
	}
	if unclear && all == Granted {
		return unstated
	}
	return all
}

// policyOf returns value without white space at its ends, or "" if it cannot be a URL.
func policyOf(value string) string {
	value = trim(value)
	if len(value) > maxPolicy || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return ""
	}
	return value
}

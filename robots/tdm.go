package robots

import (
	"strings"
	"unicode/utf8"
)

// TDM is what an answer says about text and data mining in the fields
// tdm-reservation and tdm-policy of its header, or in meta elements of these
// names (TDM Reservation Protocol, final report of a W3C Community Group). The
// zero value says nothing.
//
// The third way of that protocol is a file of the site: see TDMRep.
type TDM struct {
	Mining Stance // Refused: the rights are reserved (1); Granted: they are not (0)
	Policy string // URL of the terms under which it may be done; "" if none
}

// maxPolicy is how long the URL of a policy may be, in octets.
const maxPolicy = 2048

// HeaderTDM reads the values of the tdm-reservation and tdm-policy fields of an
// answer, one element for each field line. A reservation with another value than
// 0 or 1 is not set, as the protocol has it; of several the most restrictive
// counts.
func HeaderTDM(reservation, policy []string) TDM {
	var d TDM
	for _, v := range reservation {
		d = d.Merge(TDM{Mining: reservationOf(v)})
	}
	for _, v := range policy {
		d = d.Merge(TDM{Policy: policyOf(v)})
	}
	return d
}

// MetaTDM reads the content of a meta element. One of another name gives the
// zero value.
func MetaTDM(name, content string) TDM {
	switch name = trim(name); {
	case equalFold(name, "tdm-reservation"):
		return TDM{Mining: reservationOf(content)}
	case equalFold(name, "tdm-policy"):
		return TDM{Policy: policyOf(content)}
	}
	return TDM{}
}

// Merge returns what d and o say together: a reservation wins, and so does the
// policy that was named first.
func (d TDM) Merge(o TDM) TDM {
	d.Mining = max(d.Mining, o.Mining)
	if d.Policy == "" {
		d.Policy = o.Policy
	}
	return d
}

// reservationOf reads one value. Fields that a proxy has joined are a list.
func reservationOf(value string) Stance {
	all, unclear := Unstated, false
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
		return Unstated
	}
	return all
}

// policyOf is a value that can be a URL; "" for others.
func policyOf(value string) string {
	value = trim(value)
	if len(value) > maxPolicy || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return ""
	}
	return value
}

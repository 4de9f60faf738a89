package robots

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// TDMRepPath is the path of a site's tdmrep.json (TDM Reservation Protocol, final
// report of a W3C Community Group, "TDM File on the Origin Server").
const TDMRepPath = "/.well-known/tdmrep.json"

// Bounds of a tdmrep.json. A longer file is not read, and further rules are left out.
const (
	MaxTDMRepBytes = 64 << 10
	maxTDMRules    = 1000
)

// A TDMRep is a parsed tdmrep.json. The zero value states nothing. A TDMRep is safe for
// concurrent use.
type TDMRep struct {
	rules []tdmRule
	err   error // the result of Err
}

// Err returns the reason why the file could not be read, or nil if it was read. An unread file
// states nothing.
func (f *TDMRep) Err() error { return f.err }

// tdmRule is one object of a tdmrep.json: the statements about the URLs whose path and query
// match location, a path pattern.
type tdmRule struct {
	location string
	pattern  ruleSet
	tdm      TDM
}

// ParseTDMRep parses a tdmrep.json: an array of objects with location, tdm-reservation and
// tdm-policy, or one such object. It never fails: a file that is not JSON, or that is longer
// than MaxTDMRepBytes, states nothing, and Err returns the reason. An object without a location
// is ignored. The file may be in UTF-8, UTF-16 or ISO 8859-1.
func ParseTDMRep(body []byte) *TDMRep {
	f := &TDMRep{}
	if len(body) > MaxTDMRepBytes {
		f.err = errTooLong
		return f
	}
	if body = bytes.TrimSpace(textOf(body)); !json.Valid(body) {
		f.err = errNotJSON
		return f
	}
	var elements []json.RawMessage
	if body[0] != '[' {
		elements = []json.RawMessage{body}
	} else if err := json.Unmarshal(body, &elements); err != nil {
		f.err = err
		return f
	}
	for _, raw := range elements {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil || len(f.rules) == maxTDMRules {
			continue
		}
		location := text(members["location"])
		if location == "" {
			continue
		}
		var b builder
		b.normal(location, true, 0, false)
		f.rules = append(f.rules, tdmRule{location, b.build(RFC9309), TDM{
			Mining: reservationOf(text(members["tdm-reservation"])), Policy: policyOf(text(members["tdm-policy"])),
		}})
	}
	return f
}

// text returns the value of a JSON string, or the text of a JSON number. It returns "" for other
// values.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return trim(s)
	}
	if _, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return string(raw)
	}
	return ""
}

// match returns the statements about target, a path and query, and the location that they belong
// to. The first matching location decides, even if a longer location matches. Locations are
// patterns as in Allow and Disallow (RFC 9309, section 2.2.3).
func (f *TDMRep) match(target string) (d TDM, location string) {
	if len(f.rules) == 0 {
		return TDM{}, ""
	}
	target = normalTarget(target)
	for i := range f.rules {
		if r := &f.rules[i]; r.pattern.match(target, false) != 0 {
			return r.tdm, r.location
		}
	}
	return TDM{}, ""
}

// Signals returns the statements of the file about the use of target, a path and query.
func (f *TDMRep) Signals(target string) Signals {
	var s Signals
	d, location := f.match(target)
	s.mining(d, false)
	for i := range s.Statements {
		one := &s.Statements[i]
		one.Field, one.Value = "tdmrep.json", one.Field+" "+one.Value+" for "+shown(location)
	}
	return s
}

// Package robots reads robots.txt files: it tells whether a crawler may request
// a URL, which line of the file says so, how fast the site wants to be asked,
// and what a page says about itself. It is pure: no network, no files, no
// goroutines, and time is an argument.
//
// For a file at hand, parse it, take the group of your crawler and ask:
//
//	g := robots.Parse(body, robots.RFC9309).Group("examplebot")
//	v := g.MatchURL("https://example.org/private/page?x=1")
//	if v.Allowed() { ... }
//
// Whoever fetches robots.txt keeps a Snapshot of each attempt instead. It covers
// every outcome (a file, none, a refusal, a time-out), and its Group answers
// for all of them alike:
//
//	next := attempt.After(held)     // 304, failures and good copies are its business
//	g := next.Group(policy, now)    // the rules in force at now
//	next.Expires(policy)            // when to ask again
//
// A Verdict has three answers: Allow, Disallow and Defer. Defer is the zero
// value and means that nobody knows yet: robots.txt is unreachable and there is
// no copy to go by. What is no target, and a URL of another site, is disallowed,
// and the zero Group, File and Snapshot defer.
//
// What a site says about the use of its pages never changes a verdict. It is read
// from the group and from each answer, and the most restrictive statement decides:
//
//	s := g.Signals("/private/page?x=1").Merge(answer.Signals())
//	stance, by := s.Of(robots.UseAITrain)                // Unstated, Granted or Refused
//	by, refused := s.Refuses(robots.PurposeSearch)
//
// Two files of a site speak of uses, too, for who fetches them: ParseTDMRep reads its
// tdmrep.json, and ParseRSL the terms that a License line names. Their Signals are merged
// with the others.
//
// # Texts
//
// RFC 9309 is the law here, and dialect RFC9309 the default. Where the RFC is
// silent or leaves a choice (MAY, SHOULD), the reading that blocks more is
// taken, and what is unclear never allows:
//
//   - Misspelt keys, a missing colon, a missing leading slash and bytes that
//     are not UTF-8 count in a User-agent or Disallow line. An Allow counts
//     only if it is beyond doubt. Of a line that a limit or a NUL byte cuts,
//     only a Disallow counts.
//   - A Disallow that stands in the value of another record counts for the
//     crawlers named before it: "User-agent: * Disallow: /" lost a line end.
//   - A Disallow also matches a query in which reserved octets are escaped that
//     the rule has plain, or the other way round; an Allow does not.
//   - 401, 402, 403 and 451 close the site unless Policy.AllowForbidden is set;
//     an unreachable robots.txt never opens it.
//   - Of several delays the longest counts.
//
// Dialect Google decides byte for byte what the google/robotstxt library
// decides, quirks included. Dialect Koster1996 is the draft of November 1996,
// "A Method for Robots Exclusion", and what "HTTP: The Definitive Guide"
// describes: first match, no wildcards, records separated by blank lines.
//
// # Normal form
//
// In dialect RFC9309 rules and URLs are compared octet by octet in one normal
// form (RFC 9309, 2.2.2; RFC 3986, 6.2.2). Escaped unreserved octets are
// decoded, once. Other escapes keep their place with upper-case digits, so %2F
// is no slash. Octets that cannot stand in a URL are escaped. A "%" without two
// hexadecimal digits is an ordinary octet. A "*" or "$" of a URL becomes %2A or
// %24, which is how a rule names them (2.2.3). Dot segments of a URL are
// removed after decoding. The length of a rule, which decides between rules, is
// that of its normal form, wildcards included.
//
// # Invariants
//
//   - Parse never fails, and nothing panics, whatever the input.
//   - File, Group and Verdict are immutable; everything here is safe for
//     concurrent use, as long as nobody changes a Snapshot that is shared.
//   - Match takes time linear in the length of the rules and the target, and
//     allocates nothing unless the target is long and not in normal form.
//   - Parse and Group allocate a small multiple of the size of the file; the
//     number of allocations does not depend on what other crawlers are told.
//   - A later version may add fields, methods, problem codes and known tokens.
//     It changes a verdict only to come closer to the texts.
//
// # Speed
//
// Medians of seven runs beside github.com/temoto/robotstxt v1.1.2, both in one
// process on two busy virtual cores (go test -bench). Permesso brings every
// target into normal form, which temoto does not; temoto compiles the rules of
// all crawlers, permesso those of one. "Real files" are 4,231 from the web, with
// four questions to each; the other cases are written out in bench_test.go.
//
//	match                          permesso      temoto   ratio
//	real files                       320 ns    1,300 ns       4
//	40 lines                          71 ns    2,600 ns      37
//	2,400 rules, 25% wildcards       310 ns  255,000 ns     820
//	25 stars, path of 2,000 octets   725 ns  741,000 ns   1,020
//
//	per KiB of file         Parse    Parse and Group   temoto   ratio
//	real files             1.7 us             4.1 us    22 us       5
//	40 lines               2.8 us            10.3 us    59 us       6
//	2,400 rules            2.0 us            10.7 us    81 us       8
//
// No match allocates. Parse and Group of the 40 lines take 9 allocations (temoto
// 388), of the 2,400 rules 11 (temoto 32,865).
//
// # Map
//
//	dialect.go      the texts to read by
//	token.go        product tokens, and comparing ASCII without case
//	known.go        tokens of well-known robots and browsers
//	lines.go        where lines end
//	keys.go         what a key means, misspelt ones included
//	parse.go        File: text, limits, and the table of lines
//	joined.go       records on the line of another
//	group.go        which lines concern a crawler
//	pattern.go      rules in the form in which they are compared
//	normal.go       the normal forms of the dialects
//	compile.go      ranks, and rules arranged for matching
//	match.go        Match
//	filter.go       leaving out wildcards that cannot match
//	verdict.go      Verdict, Rule, Reason
//	delay.go        Crawl-delay, Request-rate, Visit-time
//	records.go      Sitemap, Host, Clean-param, License, Noindex
//	clean.go        what Clean-param lines take out of a query
//	preferences.go  Content-Usage and Content-Signal
//	signals.go      Signals: what all statements about use come to
//	purpose.go      which uses a crawl makes
//	dictionary.go   the dictionaries of RFC 9651
//	snapshot.go     Snapshot: every outcome of asking for robots.txt
//	expires.go      how long an outcome is kept
//	target.go       Locate and Target: from a URL to its file and its path
//	directives.go   X-Robots-Tag and meta elements
//	tdm.go          reservations of text and data mining
//	tdmrep.go       those of tdmrep.json
//	rsl.go          license documents (RSL)
//	licenses.go     what those of a site say together
//	lint.go         Problems: lines, keys and values
//	lint_rules.go   Problems: names and rules
//	differences.go  what readers by another text decide otherwise
package robots

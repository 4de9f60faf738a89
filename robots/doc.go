// Package robots reads robots.txt files. It reports whether a crawler may request a URL, which
// line of the file decides, which delay the site sets, and which directives, such as noindex, a
// page has. It uses no network, files, goroutines or clock: the current time is an argument.
//
// If you have the file, parse it, take the group of your crawler, and match URLs:
//
//	g := robots.Parse(body, robots.RFC9309).Group("examplebot")
//	v := g.MatchURL("https://example.org/private/page?x=1")
//	if v.Allowed() { ... }
//
// Where to start:
//
//   - To match URLs, call [Parse] or [ParseFor], then [File.Group], then [Group.MatchURL].
//     [Locate] returns the URL of the file to fetch.
//   - To keep the pauses of a site, call [Group.CrawlDelay], [Group.RequestRate] and
//     [Group.NextVisit].
//   - To write a crawler that fetches robots.txt, keep a [Snapshot] of each attempt: see below.
//   - To obey the directives of a page, call [HeaderDirectives] and [MetaDirectives].
//   - To learn for which use owners grant or refuse their pages, see [Signals].
//   - To check a file for its owner, call [File.Problems] and [File.Differences].
//   - To check the name of a crawler, call [CheckToken] and [KnownToken].
//
// # Snapshots
//
// A crawler that fetches robots.txt keeps a Snapshot of each attempt instead of a [File]. A
// Snapshot covers every outcome (a file, no file, a refusal, a time-out), and [Snapshot.Group]
// returns a group for each outcome:
//
//	next := attempt.After(held)     // held is the earlier snapshot; handles 304 and failures
//	g := next.Group(policy, now)    // the rules in force at now
//	next.Expires(policy)            // when to request robots.txt again
//
// # Verdicts
//
// The [Access] of a [Verdict] is Allow, Disallow or Defer. Defer is the zero value. It means that
// the answer is not known yet: robots.txt is unreachable and there is no recent copy. Request
// robots.txt again at the time Until of the Verdict. A string that is not a target (the path and
// query of a URL) is disallowed, and so is a URL of another site. The groups of the zero File and
// Snapshot, and the zero [Group], give the verdict Defer.
//
// # Statements about use
//
// The statements of a site about the use of its pages never change a verdict. Some of them are
// in robots.txt, and the group has these. Others are in the header and the meta elements of an
// answer. The most restrictive statement decides:
//
//	s := g.Signals("/private/page?x=1").Merge(answer.Signals())
//	list := s.Deciding()    // for each use, the statement that decides
//	by, refused := s.Refuses(robots.PurposeSearch)
//
// Two other files of a site may contain such statements: tdmrep.json, which [ParseTDMRep] parses,
// and the terms that a License line names, which [ParseRSL] parses. Merge the Signals of these
// two files with the other Signals.
//
// # Dialects
//
// The default dialect, [RFC9309], follows RFC 9309. If the RFC does not define a case or leaves a
// choice (MAY, SHOULD), the reading that blocks more is used, and an unclear line never allows:
//
//   - A User-agent or Disallow line counts even with a misspelt key, without its colon or
//     leading slash, or with bytes that are not UTF-8. An Allow counts only if it has none of
//     these faults. A line that is cut, at a limit or at a NUL byte, counts only if it is a
//     Disallow.
//   - A Disallow in the value of another record counts for the crawlers named before it. An
//     example is "User-agent: * Disallow: /", in which a line end was lost.
//   - A Disallow also matches a query if reserved octets are escaped only in the query or only
//     in the rule. An Allow does not.
//   - After 401, 402, 403 and 451 nothing is allowed unless [Policy.AllowForbidden] is set. An
//     unreachable robots.txt never allows.
//   - If there are several delays, the longest counts.
//
// Dialect [Google] gives the same verdicts as the google/robotstxt library, byte
// for byte. Dialect [Koster1996] is the draft of November 1996, "A Method for
// Robots Exclusion", as "HTTP: The Definitive Guide" describes it: first match,
// no wildcards, records separated by blank lines.
//
// # Normal form
//
// In dialect RFC9309 rules and URLs are compared octet by octet in one normal form (RFC 9309,
// 2.2.2; RFC 3986, 6.2.2). Escaped unreserved octets are decoded, once. Other escapes are kept,
// with upper-case digits, so %2F is not a slash. Octets that a URL cannot contain are escaped.
// A "%" without two hexadecimal digits is an ordinary octet. A "*" or "$" of a URL becomes %2A
// or %24, the form in which a rule contains them (2.2.3). Dot segments of a URL are removed
// after decoding. If several rules match, the longest decides. The length of a rule is the
// length of its normal form, with its wildcards.
//
// # Errors
//
// Parsers never fail: they skip what they cannot parse, and [File.Problems], [RSL.Err] and
// [TDMRep.Err] say what that was. [Locate] and [Target] return a [*URLError] for a string that is
// not the URL of a site with a robots.txt: do not request it. [CheckToken], [ParseDialect] and
// [Purpose.Check] return errors that say what a user must correct.
//
// # Concurrency
//
// File, Group and Verdict are immutable. All types are safe for concurrent use, except that a
// Snapshot must not be changed while it is shared.
//
// # Time, memory and stability
//
//   - No input causes a panic.
//   - Match takes time linear in the length of the rules and the target, and allocates
//     nothing unless the target is long and not in normal form.
//   - Parse and Group allocate a small multiple of the size of the file; the number of
//     allocations does not depend on the rules of other crawlers.
//   - Only the first [MaxBytes] of a robots.txt are read, except in dialect Google. A license
//     that is longer than [MaxRSLBytes], and a tdmrep.json that is longer than [MaxTDMRepBytes],
//     is not read at all.
//   - A later version may add fields, methods, problem codes and known tokens. It changes
//     a verdict only to follow the specifications more closely.
//
// # Sources
//
// RFC 9309 (robots.txt), Google's documentation of robots.txt and of X-Robots-Tag, the draft of
// November 1996; draft-ietf-aipref-attach (Content-Usage) and RFC 9651 (its dictionaries); the TDM
// Reservation Protocol, final report of a W3C Community Group; Really Simple Licensing 1.0;
// Yandex's documentation of Clean-param. The comments name the sections.
package robots

// The speed of this package:
//
// Medians of seven runs, compared with github.com/temoto/robotstxt v1.1.2, both in one process
// on two busy virtual cores (go test -bench). Permesso is this package. It normalises every
// target, temoto does not. Temoto compiles the rules of all crawlers, permesso those of one.
// "Real files" are 4,231 files from the web, with four targets each. The other cases are in
// bench_test.go.
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
// No match allocates. Parse and Group together take 9 allocations for the 40 lines, where
// temoto takes 388. They take 11 for the 2,400 rules, where temoto takes 32,865.

// The files of this package:
//
//	dialect.go      the dialects
//	token.go        product tokens, and comparisons that ignore ASCII case
//	known.go        tokens of well-known robots and browsers
//	lines.go        where lines end
//	keys.go         the kinds of keys, including misspelt ones
//	parse.go        File: text, limits, and the table of lines
//	joined.go       records inside the value of another record
//	group.go        Group: the lines that concern a crawler
//	pattern.go      rules in normal form
//	normal.go       the normal forms of the dialects
//	compile.go      ranks, and rules compiled for matching
//	match.go        Match
//	filter.go       skipping wildcards that cannot match
//	verdict.go      Verdict, Rule, Reason
//	delay.go        Crawl-delay, Request-rate, Visit-time
//	records.go      Sitemap, Host, Clean-param, License, Noindex
//	clean.go        Cleaner: removes query parameters
//	preferences.go  Content-Usage and Content-Signal
//	signals.go      Signals: all statements about use
//	purpose.go      Purpose: the uses that a crawl makes
//	dictionary.go   the dictionaries of RFC 9651
//	snapshot.go     Snapshot: every outcome of a request for robots.txt
//	expires.go      how long an outcome is used
//	target.go       Locate and Target: from a URL to its file and its path
//	directives.go   X-Robots-Tag and meta elements
//	tdm.go          reservations of text and data mining
//	tdmrep.go       reservations in tdmrep.json
//	rsl.go          license documents (RSL)
//	licenses.go     Licenses: the license documents of a site
//	lint.go         Problems: lines, keys and values
//	lint_rules.go   Problems: names and rules
//	differences.go  rules that another dialect reads differently

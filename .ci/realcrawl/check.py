#!/usr/bin/env python3
"""Checks a crawl against the access log of the server, from outside.

The access log holds one JSON object per request: end (seconds, with
milliseconds), took, host, method, uri, status, agent. A request began at
end - took. Every violation is named; exit 1 if there is any.
"""
import argparse
import collections
import datetime
import json
import os
import sys
import urllib.parse

from reachable import canonical

MILLISECOND = 0.001


class Request:
    def __init__(self, line):
        record = json.loads(line)
        self.end = float(record["end"])
        self.start = self.end - float(record["took"])
        self.host = record["host"].lower()
        self.method, self.uri, self.agent = record["method"], record["uri"], record["agent"]
        self.url = canonical("http://%s%s" % (record["host"], record["uri"])) or "unreadable: " + line.strip()
        self.robots = urllib.parse.urlsplit(self.url).path == "/robots.txt"


class Report:
    """Collects violations by kind and prints figures and violations."""

    def __init__(self, show):
        self.show, self.violations = show, 0

    def figure(self, text):
        print("      " + text)

    def rule(self, name, violations):
        violations = list(violations)
        self.violations += len(violations)
        print("%-5s %s%s" % ("FAIL" if violations else "ok", name, ": %d violations" % len(violations) if violations else ""))
        for text in violations[:self.show]:
            print("        " + text)
        if len(violations) > self.show:
            print("        and %d more" % (len(violations) - self.show))


def lines(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [line for line in file.read().split("\n") if line.strip()]


def check_set(report, requests, fetched, disallowed, kills, killed_at, slack):
    pages = [request for request in requests if not request.robots]
    count = collections.Counter(request.url for request in requests)
    hosts = {urllib.parse.urlsplit(url).netloc for url in fetched}
    once = fetched | {"http://%s/robots.txt" % host for host in hosts}
    report.figure("%d requests, %d of them for robots.txt; %d hosts; %d URLs to fetch, %d disallowed" % (
        len(requests), len(requests) - len(pages), len(hosts), len(fetched), len(disallowed)))
    report.rule("every reachable and allowed URL was requested", sorted("never requested: " + url for url in once if not count[url]))
    again = {url: count[url] - 1 for url in count if count[url] > 1 and url in once}
    extra = sum(again.values())
    names = sorted("requested %d times: %s" % (times + 1, url) for url, times in again.items())
    if not kills:
        report.rule("none was requested twice", names)
    else:
        report.figure("%d URLs requested again, %d extra requests after %d kills (%d are tolerated)" % (len(again), extra, kills, slack))
        report.rule("only what a kill cut off was requested again", names if extra > slack else (
            "requested %d times in %d runs: %s" % (times + 1, kills + 1, url) for url, times in again.items() if times > kills))
    if killed_at:
        check_runs(report, requests, once, killed_at)
    report.rule("no disallowed URL was requested", sorted("disallowed: " + url for url in disallowed if count[url]))
    report.rule("nothing else was requested", sorted("not reachable: " + url for url in count if url not in once and url not in disallowed))
    report.rule("only GET was used", ("%s %s" % (request.method, request.url) for request in requests if request.method != "GET"))


def check_runs(report, requests, once, killed_at):
    """A URL is requested again only after a kill; reports how long before the kill it was requested first."""
    last, twice, ages = {}, [], []
    for request in requests:
        if request.url in last and request.url in once:
            cut = [moment for moment in killed_at if last[request.url] <= moment <= request.start]
            if cut:
                ages.append(cut[0] - last[request.url])
            else:
                twice.append("requested again without a kill in between: " + request.url)
        last[request.url] = request.start
    if ages:
        report.figure("what was requested again had begun at most %.0f ms before the kill" % (max(ages) * 1000))
    report.rule("none was requested twice by the same run", twice)


def check_robots_first(report, requests):
    late, seen = [], set()
    for request in requests:
        if request.host not in seen and not request.robots:
            late.append("%s: the first request was %s" % (request.host, request.uri))
        seen.add(request.host)
    report.rule("robots.txt was the first request of each host", late)


def check_gaps(report, requests, delay, host_delays, tolerance, kills):
    early, overlaps, hosts = [], [], collections.defaultdict(list)
    for request in requests:
        hosts[request.host].append(request)
    for host, asked in sorted(hosts.items()):
        last, page_seen, least = None, False, None
        for request in asked:
            if last:
                # A robots.txt that a kill interrupted is requested again before its
                # Crawl-delay is known.
                known = page_seen or not request.robots or not kills
                wanted = max(delay, host_delays.get(host, 0)) if known else delay
                gap = request.start - last.end
                least = min(gap, least) if least is not None else gap
                where = "%s: %s began %.0f ms after the end of %s at %.3f" % (host, request.uri, gap * 1000, last.uri, last.end)
                if gap < -1.5 * MILLISECOND:
                    overlaps.append(where)
                elif gap < wanted - tolerance - MILLISECOND / 2:
                    early.append("%s, asked are %.0f ms" % (where, wanted * 1000))
            page_seen |= not request.robots
            if not last or request.end > last.end:
                last = request
        wanted = max(delay, host_delays.get(host, 0))
        if least is not None:
            report.figure("%-22s %5d requests in %5.1f s, least gap %4.0f ms, asked %4.0f ms" % (
                host, len(asked), last.end - asked[0].start, least * 1000, wanted * 1000))
    report.rule("no two requests to a host at once", overlaps)
    report.rule("no gap shorter than asked (tolerance %.0f ms)" % (tolerance * 1000), early)


def check_agent(report, requests, token):
    agents = collections.Counter(request.agent for request in requests)
    found = ["%d different: %s" % (len(agents), ", ".join(sorted(agents)))] if len(agents) != 1 else []
    report.rule("one User-Agent, and it holds the product token", found + ["without %s: %r" % (token, agent) for agent in agents if token not in agent])


def check_pages(report, crawl, requests, fetched):
    """pages.jsonl lists what was fetched, each URL once. After a kill it can list the first
    answer beside that of the second request (docs/reference/outputs.md)."""
    broken, count = [], collections.Counter()
    for number, line in enumerate(lines(os.path.join(crawl, "pages.jsonl")), 1):
        try:
            page = json.loads(line)
            url, status = canonical(page["url"]), page["status"]
            if 200 <= status < 500 and urllib.parse.urlsplit(url).path != "/robots.txt":
                count[url] += 1
        except (ValueError, KeyError, TypeError) as error:
            broken.append("pages.jsonl:%d: %r" % (number, error))
    report.figure("%d pages in pages.jsonl" % sum(count.values()))
    report.rule("pages.jsonl is readable", broken)
    report.rule("pages.jsonl lists every URL to fetch", sorted("not listed: " + url for url in fetched if not count[url]))
    report.rule("pages.jsonl lists nothing else", sorted("listed: " + url for url in count if url not in fetched))
    made = collections.Counter(request.url for request in requests)
    report.rule("pages.jsonl lists nothing more often than it was requested", sorted(
        "listed %d times, requested %d times: %s" % (count[url], made[url], url) for url in count if count[url] > max(1, made[url])))


def check_crawl_log(report, crawl, requests, disallowed, kills, slack):
    """crawl.log has a line for each request, and for each URL that robots.txt kept out (-9998).
    A line can be missing for what was in hand at a kill."""
    logged, refused = collections.Counter(), set()
    for line in lines(os.path.join(crawl, "crawl.log")):
        fields = line.split()
        url = canonical(fields[3]) if len(fields) > 3 else None
        try:
            status = int(fields[1])
        except (IndexError, ValueError):
            continue
        if url and status > 0:
            logged[url] += 1
        elif url and status == -9998:
            refused.add(url)
    made = collections.Counter(request.url for request in requests)
    missing = sorted("logged %d of %d times: %s" % (logged[url], times, url) for url, times in made.items() if logged[url] < times)
    unmarked = sorted("no -9998 line: " + url for url in disallowed - refused)
    if kills:
        report.figure("%d requests and %d refusals without a line in crawl.log (%d are tolerated)" % (sum((made - logged).values()), len(unmarked), slack))
    tolerated = kills and sum((made - logged).values()) + len(unmarked) <= slack
    report.rule("crawl.log has every request", [] if tolerated else missing)
    report.rule("crawl.log has no request that was not made", sorted(
        "logged %d times, made %d times: %s" % (times, made[url], url) for url, times in logged.items() if times > made[url]))
    report.rule("crawl.log names every disallowed URL", [] if tolerated else unmarked)
    report.rule("crawl.log calls nothing else disallowed", sorted("-9998: " + url for url in refused - disallowed))


def check_pauses(report, crawl):
    """Each request in crawl.log waited for what its line says was asked, as docs/reference/outputs.md tells how to find out."""
    early, unsaid, ended, tick = [], [], {}, 2e-6
    for line in lines(os.path.join(crawl, "crawl.log")):
        fields = line.split()
        notes = dict(note.split(":", 1) for note in fields[11].split(",") if ":" in note) if len(fields) > 11 else {}
        if "start" not in notes:
            continue
        url = urllib.parse.urlsplit(fields[3])
        site, start = (url.scheme, url.netloc), moment(notes["start"])
        since = moment(notes["since"]) if "since" in notes else ended.get(site)
        if "asked" not in notes:
            if site in ended:
                unsaid.append("%s at %s" % (fields[3], notes["start"]))
        elif since is None:
            unsaid.append("%s at %s, since when?" % (fields[3], notes["start"]))
        elif start < since + float(notes["asked"]) - tick:
            early.append("%s at %s, %.0f ms before %s wanted" % (
                fields[3], notes["start"], (since + float(notes["asked"]) - start) * 1000, notes.get("clock")))
        ended[site] = start + float(notes["took"])
    report.rule("crawl.log says which pause each request had to keep", unsaid)
    report.rule("crawl.log has no request that did not keep it", early)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--access", action="append", required=True, help="access log; may be repeated")
    parser.add_argument("--crawl", required=True, help="directory of the crawl")
    parser.add_argument("--fetched", required=True, help="URLs to be fetched, as reachable.py writes them")
    parser.add_argument("--disallowed", required=True, help="URLs that robots.txt forbids")
    parser.add_argument("--token", required=True, help="product token")
    parser.add_argument("--delay", type=float, required=True, help="seconds between two requests to a host")
    parser.add_argument("--host-delay", action="append", default=[], metavar="HOST=SECONDS", help="a Crawl-delay")
    parser.add_argument("--tolerance", type=float, default=0.005, help="seconds that a gap may be shorter (default 0.005)")
    parser.add_argument("--kills", type=int, default=0, help="how often the crawler was killed")
    parser.add_argument("--killed-at", type=float, action="append", default=[], metavar="SECONDS", help="a moment of a kill, since the epoch")
    parser.add_argument("--slack", type=int, help="extra requests tolerated in total (default: 64 + 256 for each kill)")
    parser.add_argument("--show", type=int, default=20, help="violations named for each rule (default 20)")
    options = parser.parse_args(arguments)
    slack = options.slack if options.slack is not None else options.kills * (64 + 256)
    host_delays = {host: float(seconds) for host, seconds in (text.split("=") for text in options.host_delay)}

    requests = sorted((Request(line) for path in options.access for line in lines(path)), key=lambda request: (request.start, request.end))
    fetched, disallowed = set(lines(options.fetched)), set(lines(options.disallowed))
    report = Report(options.show)
    check_set(report, requests, fetched, disallowed, options.kills, sorted(options.killed_at), slack)
    check_robots_first(report, requests)
    check_gaps(report, requests, options.delay, host_delays, options.tolerance, options.kills)
    check_agent(report, requests, options.token)
    check_pages(report, options.crawl, requests, fetched)
    check_crawl_log(report, options.crawl, requests, disallowed, options.kills, slack)
    check_pauses(report, options.crawl)
    print("%s: %d requests, %d violations" % ("FAILED" if report.violations else "passed", len(requests), report.violations))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())

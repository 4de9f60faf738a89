#!/usr/bin/env python3
"""check.py CRAWL_DIR REPORT.json
Recomputes the figures of a report from crawl.log, and compares them.

It shares no code with the program: it reads the log as docs/reference/outputs.md describes it, and
computes the figures as docs/reference/report.md defines them. The log does not show the queue (the
URLs that are left, and their fates): these figures must only agree with each other.
"""
import bisect
import collections
import datetime
import json
import os
import sys
import urllib.parse

TICK = 3e-6
NOTHING = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # the digest of no bytes
CLASSES = {
    "name": {"dns", "dns-timeout", "address"}, "connection": {"connect", "connect-timeout", "tls", "tls-timeout", "proxy"},
    "broken": {"reset", "stale", "truncated", "protocol", "encoding", "header-size"},
    "time-out": {"answer-timeout", "body-timeout", "total-timeout"}, "rest": {"calm", "challenge"},
}
REFUSED = {-9998: "refused", -5002: "use", -5001: "optout", -5000: "scope"}
LEFT = {"queued", "waiting", "budget", "limit", "excluded", "dead", "unreachable"}


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)


class Line:
    def __init__(self, number, text):
        fields = text.split()
        if len(fields) != 12:
            raise ValueError("%d fields" % len(fields))
        self.number, self.time, self.status = number, moment(fields[0]), int(fields[1])
        self.size = 0 if fields[2] == "-" else int(fields[2])
        self.url, self.hops, self.via, self.type, self.digest = fields[3], fields[4].strip("-"), fields[5], fields[6], fields[9]
        self.notes = dict(n.split(":", 1) for n in fields[11].split(",") if ":" in n)
        url = urllib.parse.urlsplit(self.url)
        self.site, self.host = "%s://%s" % (url.scheme, url.netloc), url.hostname
        self.request = fields[8] != "-"
        self.robots = self.hops.endswith("P")
        if self.request:
            self.start, self.took = moment(self.notes["start"]), float(self.notes["took"])
            self.end = self.start + datetime.timedelta(seconds=self.took)

    def listed(self):
        """Whether it may count as a page: it is neither a requisite nor a sitemap."""
        path = self.hops.rstrip("R")
        return not path.endswith(("E", "M"))

    def page(self):
        """Whether it counts as a page: also a 304 that confirms an archived page."""
        got = self.status // 100 == 2 or "kept" in self.notes
        return not self.robots and got and not {"error", "refused"} & set(self.notes) and self.listed()

    def kind(self):
        return self.notes.get("kept", self.type)

    def trouble(self):
        error = self.notes.get("error", "")
        for name, stages in CLASSES.items():
            if error in stages:
                return name
        if error or self.status < 0:
            return "other"
        if self.status in (429, 503):
            return "rest"
        return {5: "5xx", 4: "4xx"}.get(self.status // 100)

    def standing(self):
        if self.status in REFUSED:
            return REFUSED[self.status]
        if "refused" in self.notes:
            return "use"
        if "error" in self.notes or self.status <= 0 or self.status // 100 == 5 or self.status in (408, 421, 425, 429):
            return "failed"
        return "fetched"


def read(path):
    lines, others = [], 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                if not raw.endswith(b"\n"):
                    raise ValueError("torn")
                lines.append(Line(number, raw.decode()))
            except (ValueError, KeyError):
                others += 1
    return lines, others


class Check:
    def __init__(self):
        self.compared, self.wrong = 0, 0

    def same(self, name, reported, found, tolerance=0.0):
        self.compared += 1
        if reported == found or tolerance and abs(reported - found) <= tolerance:
            return
        self.wrong += 1
        print("FAIL  %s: the report says %.300r, the log %.300r" % (name, reported, found))


def pauses(requests, begins):
    """For each request with a demanded pause: the pause that was kept, and how often its site was requested then."""
    ended, run_of, judged, unknown, every = {}, {}, [], 0, []
    for line in requests:
        run = bisect.bisect_right(begins, line.number)
        before = ended.get(line.site) if run_of.get(line.site) == run else None
        if before and float(line.notes.get("ttfb", 0)) > 0 and line.start > before.start:
            every.append(((line.start - before.start).total_seconds(), float(line.notes["ttfb"])))
        if "clock" in line.notes:
            since = moment(line.notes["since"]) if "since" in line.notes else before.end if before else None
            if since is None:
                unknown += 1
            else:
                judged.append((line, (line.start - since).total_seconds()))
        if before is None or line.end > before.end:
            ended[line.site], run_of[line.site] = line, run
    return judged, unknown, every


def check_polite(check, report, requests, begins):
    judged, unknown, every = pauses(requests, begins)
    polite = report["politeness"]
    margins = {line.number: kept - float(line.notes.get("asked", 0)) for line, kept in judged}
    early = {number for number, margin in margins.items() if margin < -TICK}
    check.same("paced_requests", polite["paced_requests"], len(judged))
    check.same("early_requests", polite["early_requests"], len(early))
    check.same("unknown", polite["unknown"], unknown)
    check.same("retry_after_obeyed", polite["retry_after_obeyed"], sum(l.notes["clock"] == "retry-after" and l.number not in early for l, _ in judged))
    if judged:
        check.same("least_margin_seconds", polite["least_margin_seconds"], min(margins.values()), 1.5e-6)
        check.same("the margin of least_line", polite["least_margin_seconds"], margins[polite["least_line"]], 1.5e-6)
    clocks = collections.Counter(line.notes["clock"] for line, _ in judged)
    kept = {line.number: (line, kept) for line, kept in judged}
    told, late = collections.Counter(), 0
    for dot in report["delays"]:
        line, was = kept[dot["line"]]
        told[dot["clock"]] += dot["requests"]
        late += dot["early_requests"]
        check.same("a dot's clock", dot["clock"], line.notes["clock"])
        check.same("a dot's asked_seconds", dot["asked_seconds"], float(line.notes["asked"]), 1e-9)
        check.same("a dot's kept_seconds", dot["kept_seconds"], was, 1.5e-6)
    check.same("requests of dots", told, clocks)
    check.same("early ones of dots", late, len(early))
    check.same("requests of rates", sum(r["requests"] for r in report["rates"]), len(every))
    for at, rate in enumerate(report["rates"]):
        slower = [t for e, t in every if e <= rate["every_seconds"] and e >= rate["every_seconds"] * 10 ** -0.25 * (1 - 1e-9)]
        check.same("requests at one rate", rate["requests"], len(slower))
        median = sorted(slower)[(len(slower) + 1) // 2 - 1]
        check.same("median at one rate", rate["median_seconds"], median, median / 12)
        ninety = sorted(slower)[-(-len(slower) * 9 // 10) - 1]
        check.same("p90 at one rate", rate["p90_seconds"], ninety, ninety / 12)


def check_counts(check, report, lines, requests, others):
    pages = [l for l in requests if l.page()]
    answers = [l for l in requests if l.status > 0]
    about = [l for l in lines if l.url != "permesso:run"]
    for name, found in {
        "log_lines": len(lines), "other_lines": others, "requests": len(requests), "robots_requests": sum(l.robots and "for" not in l.notes for l in requests),
        "answers": len(answers), "pages": len(pages), "pages_304": sum("kept" in l.notes for l in pages), "bytes": sum(l.size for l in requests),
    }.items():
        check.same(name, report[name], found)
    left = {row["site"] for row in report["left"]["list"]}
    sites = {l.site for l in about}
    if left <= sites and report["left"]["all"] == len(left):
        check.same("sites", report["sites"], len(sites))
        check.same("hosts", report["hosts"], len({l.host for l in about}))
    check.same("status", {c["name"]: c["count"] for c in report["status"]}, collections.Counter(str(l.status) for l in answers))
    check.same("errors", {c["name"]: c["count"] for c in report["errors"]}, collections.Counter(l.notes["error"] for l in requests if "error" in l.notes))
    types = collections.defaultdict(lambda: [0, 0])
    for l in answers:
        types[l.kind()][0] += 1
        types[l.kind()][1] += l.size
    check.same("types", {t["type"]: [t["requests"], t["bytes"]] for t in report["types"]}, types)
    for row in report["site_rows"]["list"]:
        of = [l for l in requests if l.site == row["site"]]
        check.same(row["site"] + " requests", row["requests"], len(of))
        check.same(row["site"] + " bytes", row["bytes"], sum(l.size for l in of))
        check.same(row["site"] + " pages", row["pages"], sum(l.site == row["site"] for l in pages))
        ttfb = sorted(float(l.notes["ttfb"]) for l in of if float(l.notes.get("ttfb", 0)) > 0)
        median = ttfb[(len(ttfb) + 1) // 2 - 1] if ttfb else 0
        check.same(row["site"] + " median_seconds", row["median_seconds"], median, median / 12)
        asked = [float(l.notes["asked"]) for l in of if l.notes.get("clock") in ("own", "crawl-delay", "request-rate")]
        check.same(row["site"] + " asked_seconds", row["asked_seconds"], max(asked, default=0), 1e-9)
    for row in report["rules"]["list"]:
        of = [l for l in about if l.site == row["site"] and "queued" not in l.notes]
        check.same(row["site"] + " asked", row["asked"], sum(l.request and not l.robots for l in of))
        check.same(row["site"] + " refused", row["refused"], sum(not l.request and l.status == -9998 for l in of))
        check.same(row["site"] + " use", row["use"], sum(not l.request and l.status == -5002 or l.request and "refused" in l.notes for l in of))
        check.same(row["site"] + " optout", row["optout"], sum(not l.request and l.status == -5001 for l in of))
    for row in report["troubles"]["list"]:
        found = collections.Counter(l.trouble() for l in requests if l.site == row["site"] and not (l.robots and l.trouble() == "4xx"))
        del found[None]
        check.same(row["site"] + " troubles", {c["name"]: c["count"] for c in row["classes"]}, found)
        check.same(row["site"] + " all troubles", row["all"], sum(found.values()))
    took = sorted((round(-(l.end - l.start).total_seconds(), 6), l.number) for l in answers)
    check.same("slowest", [r["line"] for r in report["slowest"]["list"]], [number for _, number in took[:len(report["slowest"]["list"])]])
    large = sorted((-l.size, l.number) for l in answers)
    check.same("largest", [r["line"] for r in report["largest"]["list"]], [number for _, number in large[:len(report["largest"]["list"])]])
    numbered = {l.number: l for l in answers}
    for row in report["slowest"]["list"] + report["largest"]["list"]:
        l = numbered[row["line"]]
        check.same("line %d" % l.number, (row["url"], row["status"], row["bytes"]), (l.url, l.status, l.size))
        check.same("took_seconds of line %d" % l.number, row["took_seconds"], l.took, 1e-9)
    for name in ("slowest", "largest"):
        check.same("all of " + name, report[name]["all"], len(answers))
    for name in ("site_rows", "rules"):
        check.same("all of " + name, report[name]["all"], report["sites"])
    begun = [l.notes["begin"] for l in lines if "begin" in l.notes]
    check.same("killed", report["killed"], begun[1:].count("unclean"))


def check_urls(check, report, lines, begins, running):
    """What became of each URL, by its last line; when it was found, and when it ended."""
    by_url, robots = collections.defaultdict(list), {}
    for l in lines:
        if l.url == "permesso:run" or "queued" in l.notes:
            continue
        if l.robots:
            robots.setdefault(l.url, l.time)
        else:
            by_url[l.url].append(l)
    fates = {o["fate"]: o["urls"] for o in report["fates"]}
    queued = sum(fates.get(name, 0) for name in LEFT)
    check.same("urls", report["urls"], sum(fates.values()))
    found = collections.Counter(of[-1].standing() for of in by_url.values())
    for name in ("fetched", "refused", "use", "optout", "scope"):
        if name in ("fetched", "refused") or not queued:
            check.same("fate " + name, fates.get(name, 0), found[name])
    if not queued:
        check.same("fate failed", fates.get("failed", 0), found["failed"])
    points, step = report["series"]["points"], report["series"]["step_seconds"]
    begin = datetime.datetime.fromisoformat(report["series"]["begin"].replace("Z", "+00:00"))
    place = lambda at: max(0, int((at - begin).total_seconds() // step))
    steps = [collections.Counter() for _ in points]
    for l in lines:
        if l.url == "permesso:run":
            continue
        p = steps[place(l.time)]
        if l.request:
            p["requests"] += 1
            p["bytes"] += l.size
            p[l.status // 100 if l.status > 0 else 0] += 1
            p["pages"] += l.page()
        elif "queued" not in l.notes:
            p["refused"] += l.status in REFUSED
    for url, of in by_url.items():
        steps[place(of[-1].time)]["ended"] += 1
        there = [] if of[0].via not in by_url or by_url[of[0].via][-1].status <= 0 else [by_url[of[0].via][-1].time]
        there += [robots[of[0].via]] if of[0].via in robots else []
        if of[0].via == "-":
            runs = [l.time for l in lines if l.number in set(begins) and l.time <= of[0].time]
            steps[place(max(runs) if runs else begin)]["found"] += 1
        else:
            steps[place(min(there + [of[0].time]))]["found"] += 1
    for i, (point, p) in enumerate(zip(points, steps)):
        for name in ("requests", "pages", "bytes", "refused") + (() if queued else ("found", "ended")):
            check.same("step %d, %s" % (i, name), point[name], p[name])
        check.same("step %d, answers" % i, point["answers"], [p[digit] for digit in range(6)])
    ended = {url: of[-1] for url, of in by_url.items()}
    check.same("all found but what is left has ended", sum(p["found"] for p in points) - (0 if running else queued), sum(p["ended"] for p in points))
    broken = {url: l for url, l in ended.items() if l.trouble() and l.status not in REFUSED}
    check.same("broken", report["broken"]["all"], len(broken))
    for row in report["broken"]["list"]:
        check.same(row["url"], (row["status"], row.get("error", ""), row["tries"], row.get("via", "-")), (
            broken[row["url"]].status, broken[row["url"]].notes.get("error", ""), sum(l.request for l in by_url[row["url"]]), broken[row["url"]].via))
    redirects = {url: l.status for url, l in ended.items() if l.status // 100 == 3 and l.status != 304}
    check.same("redirects", report["redirects"]["all"], len(redirects))
    for row in report["redirects"]["list"]:
        check.same(row["url"], row["status"], redirects[row["url"]])
    check_bodies(check, report, ended, queued)


def check_bodies(check, report, ended, queued):
    """The pages that share a body; a requeued page has none, and the log does not show that."""
    bodies = collections.defaultdict(list)
    for url, l in ended.items():
        sent = l.digest != NOTHING if "kept" in l.notes else l.status // 100 == 2 and l.size > 0
        if sent and l.standing() == "fetched" and l.digest != "-" and l.listed():
            bodies[l.digest].append(url)
    if not queued:
        check.same("repeated", report["repeated"], sum(len(of) - 1 for of in bodies.values()))
        check.same("duplicates", report["duplicates"]["all"], sum(len(of) > 1 for of in bodies.values()))
    for row in report["duplicates"]["list"]:
        check.same(row["digest"], row["pages"], len(bodies[row["digest"]]))


def check_links(check, report, path):
    """The pages that link to each URL: each page counts once."""
    check.same("has_links", report["has_links"], os.path.exists(path))
    if not report["has_links"]:
        return
    linked, followed = collections.defaultdict(set), collections.defaultdict(set)
    with open(path, encoding="utf-8") as file:
        for text in file:
            link = json.loads(text)
            if link["hop"] != "R":
                linked[link["to"].split("#")[0]].add(link["from"])
            if link["hop"] == "L":
                followed[link["to"].split("#")[0]].add(link["from"])
    check.same("most_linked", report["most_linked"]["all"], len(followed))
    for row in report["most_linked"]["list"]:
        check.same("links to " + row["url"], row["linked"], len(followed[row["url"]]))
    most = sorted(((-len(pages), url) for url, pages in followed.items()), key=lambda one: (one[0], one[1].encode()))
    check.same("the most linked", [row["url"] for row in report["most_linked"]["list"]], [url for _, url in most[:len(report["most_linked"]["list"])]])
    for row in report["broken"]["list"]:
        check.same("links to " + row["url"], row["linked"], len(linked[row["url"]]))
        check.same("what links to " + row["url"], True, set(row.get("from", [])) <= linked[row["url"]])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: check.py CRAWL_DIR REPORT.json")
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    lines, others = read(os.path.join(sys.argv[1], "crawl.log"))
    requests = [l for l in lines if l.request]
    begins = [l.number for l in lines if l.url == "permesso:run" and "begin" in l.notes]
    check = Check()
    check.same("format", report["format"], "permesso-report/3")
    check.same("runs", report["runs"], len(begins))
    check_counts(check, report, lines, requests, others)
    check_polite(check, report, requests, begins)
    check_urls(check, report, lines, begins, report["running"])
    check_links(check, report, os.path.join(sys.argv[1], "links.jsonl"))
    print("report: %d figures of %s compared with crawl.log, %d differ" % (check.compared, sys.argv[1], check.wrong))
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

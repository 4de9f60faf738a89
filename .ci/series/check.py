#!/usr/bin/env python3
"""check.py WORK SNAPSHOT SNAPSHOT SNAPSHOT
Compares a series of three crawls with the files that were served, as diff -r compares them,
and with the access logs of the server.

It shares no code with the program. For each run WORK has tree, moved, fetched (the reachable
URLs, by reachable.py), disallowed, access and status, and for the second and the third diff.
"""
import base64
import collections
import email.utils
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys
import urllib.parse

SITE = "http://apache.docs.test"
SCOPE = re.compile("/manual/(en|style|images)/")  # the job's include
SHOWN = re.compile("/manual/(style|images)/")  # page requisites: reachable.py does not look for those
MADE = {  # kinds of change that the edits before a run make
    2: {"new", "modified", "same-text", "moved", "redirected", "gone", "failing", "not-modified"},
    3: {"new", "modified", "same-text", "moved", "recovered", "gone", "left-out", "not-modified"},
}


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def objects(path):
    return [json.loads(line) for line in lines(path)]


class Text(html.parser.HTMLParser):
    """What readers see of a page, with any blanks as one."""

    def __init__(self, data):
        super().__init__()
        self.words, self.hidden = [], None
        self.feed(data.decode("latin-1"))

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "style", "title"):
            self.hidden = tag

    def handle_endtag(self, tag):
        if tag == self.hidden:
            self.hidden = None

    def handle_data(self, data):
        if not self.hidden:
            self.words += data.split()


class Run:
    def __init__(self, work, number, snapshot):
        def at(form):
            return os.path.join(work, form % number)
        self.number, self.tree, self.snapshot = number, at("tree%d"), snapshot
        with open(at("moved%d.json")) as file:
            self.moved = {path: (status, target) for path, (status, target) in json.load(file).items()}
        self.requests = objects(at("access%d.log"))
        self.asked = {r["uri"]: r for r in self.requests}
        with open(at("status%d.json")) as file:
            self.status = json.load(file)
        self.pages = objects(os.path.join(snapshot, "pages.jsonl"))
        self.log = [line.split() for line in lines(os.path.join(snapshot, "crawl.log"))]
        self.disallowed = self.paths(at("disallowed%d.txt"))
        self.reached = self.paths(at("fetched%d.txt"))
        self.known = self.reached | {path for path in self.asked if SHOWN.match(path)}

    @staticmethod
    def paths(path):
        return {url[len(SITE):] for url in lines(path) if url.startswith(SITE + "/") and SCOPE.match(url[len(SITE):])}

    def file(self, path):
        """The name within the tree of the file that the server sends for a path."""
        return path[1:] + ("index.html" if path.endswith("/") else "")

    def state(self, path):
        """absent (not known), missing, redirect or page."""
        if path not in self.known:
            return "absent"
        if path in self.moved:
            return "redirect"
        return "page" if os.path.isfile(os.path.join(self.tree, self.file(path))) else "missing"

    def read(self, path):
        with open(os.path.join(self.tree, self.file(path)), "rb") as file:
            return file.read()

    def written(self, path):
        return os.stat(os.path.join(self.tree, self.file(path))).st_mtime


class Check:
    def __init__(self):
        self.compared, self.wrong = 0, 0

    def same(self, what, said, found):
        self.compared += 1
        if said != found:
            self.wrong += 1
            print("FAIL  %s: said is %.600r, found %.600r" % (what, said, found))

    def mapping(self, what, said, found):
        self.same("the names of " + what, sorted(set(said) - set(found)), sorted(set(found) - set(said)))
        for name in sorted(set(said) & set(found)):
            self.same("%s of %s" % (what, name), said[name], found[name])


def differing(was, now):
    """The files that diff -r names: in one tree alone, or with other bytes."""
    run = subprocess.run(["diff", "-rq", was.tree, now.tree], capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    if run.returncode > 1:
        sys.exit("series: " + run.stderr)
    removed, added, modified = set(), set(), set()
    for line in run.stdout.splitlines():
        if m := re.fullmatch("Only in (.*): (.*)", line):
            path = os.path.join(*m.groups())
            names, tree = (removed, was.tree) if path.startswith(was.tree + "/") else (added, now.tree)
            names.add(os.path.relpath(path, tree))
        elif m := re.fullmatch("Files (.*) and (.*) differ", line):
            modified.add(os.path.relpath(m[1], was.tree))
        else:
            sys.exit("series: diff -r says %r" % line)
    return removed, added, modified


def kinds(was, now):
    """The kind of change of each path that either crawl knows."""
    removed, added, modified = differing(was, now)

    def kind(path):
        a, b = was.state(path), now.state(path)
        name = was.file(path)
        if b == "redirect":
            status, target = now.moved[path]
            if a == "redirect" and was.moved[path] == (status, target):
                return "not-modified"
            if a in ("redirect", "page"):
                return "moved" if status in (301, 308) else "redirected"
        if a in ("absent", "missing"):
            if b in ("page", "redirect"):
                return "new" if a == "absent" else "recovered"
            return "failing" if a == "absent" and b == "missing" else "other"
        if b != "page":
            return {"absent": "left-out", "missing": "gone"}[b]
        if a == "redirect":
            return "modified"
        if name in removed or name in added:
            sys.exit("series: %s is in one tree alone, and was served twice" % name)
        if name not in modified:
            return "not-modified"
        if name.endswith(".html") and Text(was.read(path)).words == Text(now.read(path)).words:
            return "same-text"
        return "modified"
    return {path: kind(path) for path in was.known | now.known}


def check_diff(check, work, was, now):
    said = objects(os.path.join(work, "diff%d.jsonl" % now.number))
    found = kinds(was, now)
    count = collections.Counter(found.values())
    changes = {o["url"][len(SITE):]: o for o in said if o["type"] == "change"}
    check.mapping("change", {path: o["change"] for path, o in changes.items()},
                  {path: kind for path, kind in found.items() if kind not in ("not-modified", "other")})
    total = said[-1]
    counts = {kind: n for kind, n in total["counts"].items() if n > 0}
    count["other"] += len((was.disallowed | now.disallowed) - set(found))
    check.mapping("count", counts, {kind: n for kind, n in count.items() if n > 0})
    check.same("settings", total["settings"], [])
    check.same("texts that are not at hand", total["texts"]["unknown"], 0)
    for path, (status, target) in now.moved.items():
        if found.get(path) == "moved":
            o = changes[path]
            body = was.read(path) == now.read(target) if was.state(path) == "page" else None
            check.same("target of " + path, o["target"]["url"], SITE + target)
            check.same("status of " + path, o["is"]["status"], status)
            if body is not None:
                check.same("same body at the target of " + path, o["target"]["same_body"], body)
    classes = {"recovered": "new", "new": "new", "modified": "modified", "same-text": "same-text", "not-modified": "not-modified"}
    want = {path: classes[kind] for path, kind in found.items() if now.state(path) == "page"}
    # A redirect was not a page.
    want |= {path: "new" for path in want if was.state(path) == "redirect"}
    check.mapping("change in pages.jsonl", {p["url"][len(SITE):]: p.get("change") for p in now.pages if p["status"] == 200}, want)
    requisites = {p["url"][len(SITE):] for p in now.pages if p.get("hops", "").rstrip("R").endswith("E")}
    changed = dict(collections.Counter(kind for path, kind in want.items() if path not in requisites))
    check.same("changes of the summary", now.status["run"]["page_changes"], changed)
    with open(os.path.join(now.snapshot, "provenance.json")) as file:
        figures = json.load(file)["figures"]
    check.same("changes of the provenance", (figures["page_changes"], figures["gone"]), (changed, count["gone"]))
    check.same("kinds that the edits make", sorted(MADE[now.number] - set(+count)), [])
    return count


def validators(run, path):
    """The ETag and the date that nginx gives a file."""
    written = int(run.written(path))
    return '"%x-%x"' % (written, len(run.read(path))), email.utils.formatdate(written, usegmt=True)


def check_requests(check, was, now):
    """Each file was requested once; an unchanged one with a condition, and was not sent again."""
    pages = [r for r in now.requests if r["uri"] != "/robots.txt"]
    check.same("requests for robots.txt", len(now.requests) - len(pages), 0 if was else 1)
    check.same("requests", len(pages), len(now.asked) - (not was))
    check.same("what was asked", sorted(p for p in now.asked if not SHOWN.match(p) and p != "/robots.txt"), sorted(now.reached))
    check.same("methods", {r["method"] for r in now.requests}, {"GET"})
    unchanged, touched, sent = set(), set(), 0
    for r in pages:
        path, state = r["uri"], now.state(r["uri"])
        before = was.state(path) if was else "absent"
        same = before == state == "page" and was.read(path) == now.read(path)
        if same and was.written(path) == now.written(path):
            unchanged.add(path)
        elif same:
            touched.add(path)
        # A page that was there has validators; a redirect or an error has none.
        want = validators(was, path) if before == "page" else ("", "")
        check.same("conditions of " + path, (r["match"].removeprefix("W/"), r["since"]), want)
        want = {"page": 200, "missing": 404}.get(state) or now.moved[path][0]
        check.same("status of " + path, r["status"], 304 if path in unchanged else want)
        check.same("body of %s is sent" % path, r["body"] > 0, path not in unchanged)
        sent += r["body"] if path not in unchanged else 0
    check.same("bytes that nginx has sent", sum(r["body"] for r in pages), sent)
    check_figures(check, was, now, pages, unchanged)
    return len(pages), len(unchanged), len(touched), sent


def check_figures(check, was, now, pages, unchanged):
    """The crawl and the server record the same requests."""
    run = now.status["run"]
    robots = 0 if was else 1
    check.same("requests of the summary", (run["requests"], run["robots_requests"]), (len(pages) + robots, robots))
    counted = collections.Counter(str(r["status"]) for r in now.requests)
    check.same("statuses of the summary", run["status"], dict(counted))
    check.same("304s of the summary", run["status"].get("304", 0), len(unchanged))
    logged = [(f[3][len(SITE):], int(f[1])) for f in now.log if f[8] != "-" and int(f[1]) > 0]
    check.same("crawl.log", logged, [(r["uri"], r["status"]) for r in now.requests])
    sizes = {f[3][len(SITE):]: int(f[2].replace("-", "0")) for f in now.log if f[8] != "-"}
    for r in pages:
        # Compressed answers come in chunks, and nginx counts the sizes of chunks, too.
        chunks = r["body"] - sizes.get(r["uri"], -1)
        check.same("size of %s in crawl.log" % r["uri"], 0 <= chunks <= (20 + r["body"] // 100 if r["coding"] else 0), True)
    check.same("bytes of the summary", run["bytes"], sum(sizes.values()))


def check_pages(check, now):
    """pages.jsonl describes each file as it is on the disk, whether it was sent or not."""
    for p in now.pages:
        if p["status"] == 200:
            body = now.read(p["url"][len(SITE):])
            digest = "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()
            check.same("body of " + p["url"], (p["size"], p["digest"], "text_digest" in p), (len(body), digest, True))
    check.same("pages with status 200", sorted(p["url"][len(SITE):] for p in now.pages if p["status"] == 200),
               sorted(path for path in now.known if now.state(path) == "page"))


def check_schedule(check, work, runs):
    with open(os.path.join(work, "schedule.json")) as file:
        said = json.load(file)
    names = [os.path.basename(r.snapshot) for r in runs]
    check.same("snapshots of the schedule", said["snapshots"], 3)
    check.same("snapshots by name", [os.path.basename(s) for s in said["older_than_keep"] + [said["last"]["dir"]]], names)
    check.same("state of the last", (said["last"]["state"], said["last"]["end"]), ("over", "done"))
    # The last line repeats the facts of the others.
    check.same("what needs an older one", [os.path.basename(n["dir"]) for n in said["needed"]], names[2:])
    for r, before in zip(runs, [None] + names):
        with open(os.path.join(r.snapshot, "snapshot.json")) as file:
            snapshot = json.load(file)
        check.same("previous of " + r.snapshot, snapshot.get("previous") or None, before)


def main():
    work = sys.argv[1]
    runs = [Run(work, number, snapshot) for number, snapshot in enumerate(sys.argv[2:], 1)]
    check = Check()
    for was, now in zip([None] + runs, runs):
        requests, unchanged, touched, sent = check_requests(check, was, now)
        check_pages(check, now)
        archive = sum(os.path.getsize(os.path.join(now.snapshot, "warc", n)) for n in os.listdir(os.path.join(now.snapshot, "warc")))
        print("series: run %d: %d requests, %d answered 304, %d touched and sent again, %d bytes of bodies, %d bytes of archive" % (
            now.number, requests, unchanged, touched, sent, archive))
        if was:
            count = check_diff(check, work, was, now)
            print("series: run %d: %s" % (now.number, ", ".join("%d %s" % (n, kind) for kind, n in sorted(count.items()) if n)))
    check_schedule(check, work, runs)
    if len(runs[0].known) < 150 or len(runs[0].reached) - len(runs[0].disallowed) < 120:
        sys.exit("series: %d files are too few" % len(runs[0].known))
    if check.wrong:
        sys.exit("series: %d of %d things are wrong" % (check.wrong, check.compared))
    print("series: %d things are as the files and the server say" % check.compared)


if __name__ == "__main__":
    main()

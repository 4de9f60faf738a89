#!/usr/bin/env python3
"""check.py CRAWL_DIR [nodes]
Recomputes the contents of provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md
from the other files of a crawl, and compares.

It shares no code with the program: it computes the digests of the files, and counts in
crawl.log, pages.jsonl, links.jsonl and the archive, as docs/reference/outputs.md describes them.

With the word nodes, the crawl was collected from several nodes. Their runs began at about the same
time, and all of them have ended.
"""
import collections
import gzip
import hashlib
import json
import os
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "report"))
from check import read  # the lines of crawl.log, and the fate of a URL by its last line

PAST = {"fetched", "refused", "use", "failed", "scope", "optout"}  # fates that the log shows
OURS = {"provenance.json", "provenance.json.sig", "DATASHEET.md", "report.html", "audit.json"}


def sha256(path):
    sum = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            sum.update(block)
    return sum.hexdigest()


def objects(path):
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return [json.loads(line) for line in file]


class Check:
    def __init__(self):
        self.compared, self.wrong = 0, 0

    def same(self, name, said, found):
        self.compared += 1
        if said != found:
            self.wrong += 1
            print("FAIL  %s: said is %.300r, found %.300r" % (name, said, found))


def digests(check, dir, p):
    files = {}
    for at, _, names in os.walk(dir):
        for name in names:
            path = os.path.join(at, name)
            inside = os.path.relpath(path, dir).replace(os.sep, "/")
            if inside not in OURS and os.path.isfile(path):
                files[inside] = (os.path.getsize(path), sha256(path))
    check.same("outputs", {o["name"]: (o["bytes"], o["sha256"]) for o in p["outputs"]}, files)
    parts = b"".join(s["name"].encode() + b"\0" + s["value"].encode() + b"\0" for s in p["settings"])
    check.same("settings_sha256", p["settings_sha256"], hashlib.sha256(parts).hexdigest())
    seeds = p["seeds"]
    if seeds.get("file"):
        with open(os.path.join(dir, seeds["file"]), "rb") as file:
            text = file.read()
    else:
        text = "".join(s + "\n" for s in seeds["list"]).encode()
    check.same("seeds", (seeds["sha256"], seeds["count"]), (hashlib.sha256(text).hexdigest(), text.count(b"\n")))
    return files


def runs(check, p, lines, nodes):
    begins = [l for l in lines if l.url == "permesso:run" and "begin" in l.notes]
    unclean = sum(l.notes["begin"] == "unclean" for l in begins[1:])
    check.same("runs", (p["runs"]["all"], len(p["runs"]["list"])), (len(begins), len(begins)))
    check.same("killed", (p["killed"], sum(r["how"] == "killed" for r in p["runs"]["list"])), (unclean, unclean))
    check.same("began", [r["began"][:19] for r in p["runs"]["list"]], [l.time.strftime("%Y-%m-%dT%H:%M:%S") for l in begins])
    for r in p["runs"]["list"][0 if nodes else -1:]:  # one that was killed early has recorded nothing
        check.same("what is known of a run", (r["clock"] != "unknown", r["synchronised"] in ("yes", "no"), r.get("build") in p["builds"]), (True,) * 3)
        check.same("the end of a run", r["how"] in ("done", "unasked", "patience"), True)


def figures(check, dir, p, lines, others):
    f, asked = p["figures"], [l for l in lines if l.request]
    pages = [l for l in asked if not l.robots]
    check.same("log_lines", (f["log_lines"], f["other_lines"]), (len(lines), others))
    check.same("requests", (f["requests"], f["robots_requests"]), (len(asked), sum(l.robots and "for" not in l.notes for l in asked)))
    check.same("bytes", f["bytes"], sum(l.size for l in asked))
    check.same("sites", (f["sites"], f["hosts"]), (len({l.site for l in asked}), len({l.host for l in asked})))
    hosts = collections.Counter(l.host for l in asked)
    check.same("top_hosts", [c["count"] for c in f["top_hosts"]], sorted(hosts.values(), reverse=True)[:20])
    check.same("top_hosts, each", {c["name"]: c["count"] for c in f["top_hosts"]}, {c["name"]: hosts[c["name"]] for c in f["top_hosts"]})
    check.same("status", f["status"], dict(collections.Counter(str(l.status) for l in asked if l.status > 0)))
    check.same("errors", f["errors"], dict(collections.Counter(l.notes["error"] for l in asked if "error" in l.notes)))
    good = [l for l in pages if (l.status // 100 == 2 or "kept" in l.notes) and "error" not in l.notes]
    check.same("types_of_2xx", f["types_of_2xx"], dict(collections.Counter(l.kind() for l in good)))
    records = objects(os.path.join(dir, "pages.jsonl"))
    check.same("page_lines", (f["has_pages"], f["page_lines"]), (os.path.exists(os.path.join(dir, "pages.jsonl")), len(records)))
    for name, key in (("truncated", "truncated"), ("noindex", "noindex"), ("noarchive", "noarchive"), ("use_refused", "refused")):
        check.same(name, f[name], sum(bool(r.get(key)) for r in records))
    listed = [r for r in records if not r.get("hops", "").rstrip("R").endswith(("E", "M"))]  # neither requisites nor sitemaps
    changes = dict(collections.Counter(r["change"] for r in listed if r.get("change")))
    check.same("page_changes", f["page_changes"], changes)
    stale = [l for l in pages if "kept" in l.notes and l.listed()]
    check.same("304s that pages stand for", len(stale) <= changes.get("not-modified", 0) and all(l.status == 304 for l in stale), True)
    check.same("gone", f["gone"], gone(p, records))
    check.same("charsets", f["charsets"], dict(collections.Counter(r["charset"] for r in records if r.get("charset"))))


def gone(p, records):
    """How many URLs are not there that the crawl before was answered about without an error, where that can be read."""
    path = os.path.join(p.get("previous", {}).get("dir", ""), "pages.jsonl")
    if not os.path.exists(path):
        return None
    was = {r["url"]: r["status"] for r in objects(path)}  # the last line of each
    return sum(r["status"] in (404, 410) and 0 < was.get(r["url"], 0) < 400 for r in records)


def words(value):
    return "none" if value in ("", "0") else value


def settings(check, p):
    """What is usual is what docs/reference/settings.md says of the settings that are flags."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "reference", "settings.md")) as file:
        usual = dict(re.findall(r"(?m)^\| `--([a-z-]+)` \| [^|]* \| ([^|]*) \|", file.read()))
    for s in p["settings"]:
        found = usual.get(s["name"], words(s["usual"]))
        check.same("the usual " + s["name"], (words(s["usual"]), s["given"]), (found, s["value"] != s["usual"]))
    check.same("settings that are flags", len(usual.keys() & {s["name"] for s in p["settings"]}) > 30, True)


def absences(check, dir, p, lines):
    a, rows = p["absences"], objects(os.path.join(dir, "absences.jsonl"))
    absent = {r["url"]: r["fate"] for r in rows if "url" in r}
    check.same("absent URLs, each once", (a["urls"], len(absent)), (sum("url" in r for r in rows),) * 2)
    fates = {k: n for k, n in a["fates"].items() if k != "fetched"}
    check.same("fates", fates, dict(collections.Counter(absent.values())))
    stood = {}
    for l in lines:
        if l.url != "permesso:run" and not l.robots and "queued" not in l.notes:
            stood[l.url] = l.standing()
    for url, fate in absent.items():
        if fate in PAST:
            check.same("the fate of " + url, fate, stood.get(url))
    queued = {u for u, fate in absent.items() if fate not in PAST}
    entered = set(stood) | queued
    check.same("fetched", a["fates"].get("fetched", 0), sum(s == "fetched" and u not in queued for u, s in stood.items()))
    check.same("absent by the log", {u: s for u, s in stood.items() if s != "fetched" and u not in queued}, {u: f for u, f in absent.items() if f in PAST})
    check.same("entered", a["entered"], len(entered))
    refused = [r for r in rows if "refused" in r]
    counts = collections.Counter()
    for r in refused:
        counts[r["refused"]] += r["urls"]
    if a["refused_source"] != "links.jsonl":
        check.same("refused, without links", (len(refused), os.path.exists(os.path.join(dir, "links.jsonl"))), (0, False))
        return len(entered), len(absent), fates
    check.same("refused_urls", a["refused_urls"], dict(counts))
    to = {key(l["to"]) for l in objects(os.path.join(dir, "links.jsonl"))} - {key(u) for u in entered}
    check.same("URLs that links lead to, and that never entered", sum(counts.values()), len(to))
    for r in refused:
        for url in r["examples"]:
            check.same("the example " + url, (key(url) in to, origin(url)), (True, r.get("site", origin(url))))
    return len(entered), len(absent), fates


def key(url):
    """URLs that RFC 3986, section 6.2.2, calls the same are one: escapes of what needs none."""
    def plain(m):
        c = chr(int(m[1], 16))
        return c if re.match(r"[A-Za-z0-9._~-]", c) else m[0].upper()
    return re.sub("%([0-9A-Fa-f]{2})", plain, url)


def origin(url):
    u = urllib.parse.urlsplit(url)
    return "%s://%s" % (u.scheme, u.netloc)


def archived(dir):
    """The digests of all robots.txt in the archive."""
    all = set()
    with open(os.path.join(dir, "index.cdxj")) as index:
        for line in index:
            at = json.loads(line[line.index("{"):])
            if not at["url"].endswith("/robots.txt") or at["mime"] == "warc/revisit":
                continue
            with open(os.path.join(dir, "warc", at["filename"]), "rb") as file:
                file.seek(int(at["offset"]))
                record = gzip.decompress(file.read(int(at["length"])))
            _, _, answer = record.partition(b"\r\n\r\n")
            head, _, body = answer[:-4].partition(b"\r\n\r\n")
            if re.search(rb"(?im)^content-encoding: *gzip", head):
                body = gzip.decompress(body)
            all.add(hashlib.sha256(body).hexdigest())
    return all


def robots(check, dir, p):
    copies, kept = objects(os.path.join(dir, "robots.jsonl")), archived(dir)
    lines = hashlib.sha256()
    began = p["runs"]["list"][0]["began"][:19]
    for c in copies:
        at, _, parts = c["fetched"].rstrip("Z").partition(".")
        lines.update(("%s\t%s.%sZ\t%d\t%s\n" % (c["site"], at, (parts + "000000")[:6], c["status"], c["sha256"])).encode())
        if c["status"] == 200 and c["bytes"] and at[:19] >= began:  # others were carried over from the earlier crawl
            check.same("robots.txt of %s in the archive" % c["site"], c["sha256"] in kept, True)
    check.same("the copies that were audited", p["audit"]["robots_copies_sha256"], lines.hexdigest())
    check.same("copies", (p["robots"]["copies"], p["robots"]["sites"]), (len(copies), len({c["site"] for c in copies})))
    check.same("the last of each site", sum(c["last"] for c in copies), p["robots"]["sites"])
    check.same("the log that was audited", p["audit"]["log_sha256"], sha256(os.path.join(dir, "crawl.log")))
    check.same("the verdict", (p["audit"]["verdict"], p["audit"]["violations"]), ("clean", 0))


def datasheet(check, dir, p, files, entered, absent, fates):
    with open(os.path.join(dir, "DATASHEET.md")) as file:
        rows = [[cell.strip(" `") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in file if line.startswith("|")]
    two = {r[0]: r[1] for r in rows if len(r) == 2}
    f = p["figures"]
    for name, n in {
        "URLs that entered the crawl": entered, "of them, without an answer": absent, "of them, answered": entered - absent, "requests": f["requests"],
        "of them, for robots.txt": f["robots_requests"], "seeds": p["seeds"]["count"], "hosts": f["hosts"], "lines of pages.jsonl": f["page_lines"],
        "bytes of bodies over the wire": f["bytes"], "not to be indexed": f["noindex"], **f["status"], **f["types_of_2xx"], **p["absences"]["refused_urls"], **p["absences"]["skipped_links"],
    }.items():
        check.same("DATASHEET.md: " + name, two.get(name), str(n))
    three = {r[1]: r[2] for r in rows if len(r) == 3}
    for fate, n in fates.items():
        check.same("DATASHEET.md: " + fate, three.get(fate), str(n))
    changed = f["page_changes"]
    if p.get("previous") or changed:
        for name in ("new", "modified", "same-text", "not-modified"):
            check.same("DATASHEET.md: " + name, three.get(name), str(changed.get(name, 0)))
    if f["gone"] is not None:
        check.same("DATASHEET.md: gone", three.get("gone"), str(f["gone"]))
    given = {r[0]: (r[1], r[2]) for r in rows if len(r) == 3 and r[0] in {s["name"] for s in p["settings"]}}
    check.same("DATASHEET.md: settings", given, {
        s["name"]: (words(s["value"]).replace("|", "\\|"), words(s["usual"])) for s in p["settings"] if s["given"]})
    listed = {r[0]: (int(r[1]), r[2]) for r in rows if len(r) == 3 and re.fullmatch("[0-9a-f]{64}", r[2])}
    check.same("DATASHEET.md: files", listed, files)


def main():
    dir = sys.argv[1]
    with open(os.path.join(dir, "provenance.json")) as file:
        p = json.load(file)
    check = Check()
    check.same("format", (p["format"], p["version"]), ("permesso-provenance/3", 3))
    lines, others = read(os.path.join(dir, "crawl.log"))
    files = digests(check, dir, p)
    settings(check, p)
    runs(check, p, lines, sys.argv[2:] == ["nodes"])
    figures(check, dir, p, lines, others)
    counts = absences(check, dir, p, lines)
    robots(check, dir, p)
    datasheet(check, dir, p, files, *counts)
    print("provenance: %d figures and digests of %s compared, %d wrong" % (check.compared, dir, check.wrong))
    sys.exit(check.wrong > 0 or check.compared < 50)


if __name__ == "__main__":
    main()

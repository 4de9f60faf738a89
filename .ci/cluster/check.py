#!/usr/bin/env python3
"""check.py ONE ALL ACCESS NODE...

Compares the crawl ONE of one machine with ALL, which was collected from the nodes, and reads the
log ACCESS of the server that the nodes have asked. Exits with 1 if anything differs.
"""
import collections
import json
import os
import sys

DELAY, SLOW = 0.01, {"small-docs.test": 1}
MILLISECOND = 0.001


def lines(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [line for line in file.read().split("\n") if line.strip()]


def answers(crawl):
    """The URL, status and digest of each line of crawl.log, except of the run itself."""
    found = set()
    for line in lines(os.path.join(crawl, "crawl.log")):
        fields = line.split()
        if fields[3].startswith(("http:", "https:")):
            found.add((fields[3], fields[1], fields[9]))
    return found


def pages(crawl):
    return [json.loads(line) for line in lines(os.path.join(crawl, "pages.jsonl"))]


def main():
    one, together, access, nodes = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    wrong = []

    def compare(what, a, b):
        for missing, where in ((a - b, "the nodes lack"), (b - a, "only the nodes have")):
            wrong.extend("%s: %s %s" % (what, where, " ".join(map(str, x))) for x in sorted(missing, key=str))

    compare("crawl.log", answers(one), answers(together))
    keys = [(p["url"], p["status"], p["digest"], p["size"]) for p in pages(one)]
    found = [(p["url"], p["status"], p["digest"], p["size"]) for p in pages(together)]
    compare("pages.jsonl", set(keys), set(found))
    wrong += ["pages.jsonl: the nodes have %s %d times" % (key, n) for key, n in collections.Counter(k[0] for k in found).items() if n > 1]
    shares = [len(pages(node)) for node in nodes]
    if sum(shares) != len(found):
        wrong.append("the nodes have %d pages, and all of them %d" % (sum(shares), len(found)))

    asked, hosts = collections.Counter(), collections.defaultdict(list)
    for line in lines(access):
        record = json.loads(line)
        host, end = record["host"].lower(), float(record["end"])
        hosts[host].append((end - float(record["took"]), end, record["uri"]))
        asked[host + record["uri"]] += 1
    wrong += ["%s was requested %d times" % (url, n) for url, n in asked.items() if n > 1 and not url.endswith("/robots.txt")]
    for host, requests in hosts.items():
        requests.sort()
        for (_, end, before), (start, _, uri) in zip(requests, requests[1:]):
            # nginx logs milliseconds, and the end of an answer when it has sent it.
            if start - end < SLOW.get(host, DELAY) - 2 * MILLISECOND:
                wrong.append("%s%s was requested %.3f s after %s" % (host, uri, start - end, before))
    for text in wrong[:30]:
        print("FAIL  " + text)
    print("%d URLs, %d pages, of the nodes %s; %d requests by nginx's log; %d differences" % (len(answers(one)), len(keys), shares, sum(asked.values()), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

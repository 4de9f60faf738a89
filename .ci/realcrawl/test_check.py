"""Proves that check.py fails where it has to, and only there."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import check
from reachable import Page, Robots, canonical, resolve

AGENT = "permessotest/1 (+mailto:ci@example.org)"
FAST, SLOW = "fast.test", "slow.test"
CLOSED = "http://fast.test/closed"


def request(end, host, uri, took=0.002, status=200, agent=AGENT, method="GET"):
    return {"end": round(end, 3), "took": took, "host": host, "method": method, "uri": uri, "status": status, "agent": agent}


class Check(unittest.TestCase):
    def setUp(self):
        self.requests = [request(100 + i * 0.022, FAST, uri) for i, uri in enumerate(["/robots.txt", "/", "/a", "/b", "/c%7ed"])]
        self.requests += [request(100 + i * 1.002, SLOW, uri) for i, uri in enumerate(["/robots.txt", "/", "/a"])]
        self.fetched = ["http://%s%s" % (r["host"], r["uri"].replace("%7e", "~")) for r in self.requests if r["uri"] != "/robots.txt"]
        self.pages = list(self.fetched)
        self.disallowed = [CLOSED]
        self.log = None

    def run_check(self, *options):
        """The exit code and the lines that check.py prints."""
        with tempfile.TemporaryDirectory() as directory:
            def write(name, lines):
                with open(os.path.join(directory, name), "w") as file:
                    file.writelines(line + "\n" for line in lines)
                return os.path.join(directory, name)
            log = self.log
            if log is None:
                log = ["2026-01-01T00:00:00.000Z %5d 10 http://%s%s L - text/html #1 x sha1:x - -" % (r["status"], r["host"], r["uri"]) for r in self.requests]
                log += ["2026-01-01T00:00:00.000Z -9998 - %s L - - #1 - - - -" % url for url in self.disallowed]
            write("crawl.log", log)
            write("pages.jsonl", [json.dumps({"url": url, "status": 200}) for url in self.pages])
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = check.main([
                    "--access", write("access.log", [json.dumps(r) for r in self.requests]), "--crawl", directory,
                    "--fetched", write("fetched", self.fetched), "--disallowed", write("disallowed", self.disallowed),
                    "--token", "permessotest", "--delay", "0.02", "--host-delay", SLOW + "=1", *options])
            return code, output.getvalue()

    def assertFails(self, rule, detail, *options):
        """Exactly the named rule fails, and says why."""
        code, output = self.run_check(*options)
        failed = [line[6:].rsplit(":", 1)[0] for line in output.splitlines() if line.startswith("FAIL ")]
        self.assertEqual((code, failed), (1, [rule]), output)
        self.assertIn(detail, output)
        self.assertTrue(output.splitlines()[-1].startswith("FAILED:"), output)

    def assertPasses(self, *options):
        code, output = self.run_check(*options)
        self.assertEqual(code, 0, output)
        self.assertTrue(output.splitlines()[-1].startswith("passed:"), output)

    def shift(self, first, last, seconds):
        for r in self.requests[first:last]:
            r["end"] = round(r["end"] + seconds, 3)

    def test_good(self):
        self.assertPasses()

    def test_early(self):
        self.shift(2, 5, -0.006)
        self.assertFails("no gap shorter than asked (tolerance 5 ms)", "fast.test: /a began 14 ms after the end of / at 100.022, asked are 20 ms")

    def test_tolerance(self):
        self.shift(2, 5, -0.005)
        self.assertPasses()

    def test_crawl_delay(self):
        self.shift(7, 8, -0.1)
        self.assertFails("no gap shorter than asked (tolerance 5 ms)", "slow.test: /a began 900 ms after the end of / at 101.002, asked are 1000 ms")

    def test_crawl_delay_after_robots(self):
        self.shift(6, 8, -0.9)
        self.assertFails("no gap shorter than asked (tolerance 5 ms)", "slow.test: / began 100 ms after the end of /robots.txt", "--kills", "1")

    def test_overlap(self):
        self.requests[2].update(end=100.070, took=0.028)
        self.assertFails("no two requests to a host at once", "fast.test: /b began -6 ms after the end of /a at 100.070")

    def test_overlap_with_a_longer_one_before(self):
        self.requests[1].update(end=100.120, took=0.100)
        code, output = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("FAIL  no two requests to a host at once: 3 violations", output)

    def test_twice(self):
        self.requests.append(request(101, FAST, "/a"))
        self.assertFails("none was requested twice", "requested 2 times: http://fast.test/a")

    def test_twice_in_other_letters(self):
        self.requests.append(request(101, FAST, "/c~d"))
        code, output = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("requested 2 times: http://fast.test/c~d", output)

    def test_twice_after_a_kill(self):
        self.requests.append(request(101, FAST, "/a"))
        self.assertPasses("--kills", "1", "--slack", "1")
        self.assertFails("only what a kill cut off was requested again", "requested 2 times: http://fast.test/a", "--kills", "1", "--slack", "0")

    def test_twice_by_one_run(self):
        self.requests.append(request(101, FAST, "/a"))
        self.assertPasses("--kills", "1", "--killed-at", "100.5")
        self.assertFails("none was requested twice by the same run", "without a kill in between: http://fast.test/a", "--kills", "1", "--killed-at", "101.5")

    def test_more_often_than_killed(self):
        self.requests += [request(101, FAST, "/a"), request(102, FAST, "/a")]
        self.assertFails("only what a kill cut off was requested again", "requested 3 times in 2 runs: http://fast.test/a", "--kills", "1", "--slack", "9")

    def test_early_after_a_kill(self):
        self.requests.append(request(100.1, FAST, "/c~d"))
        self.assertFails("no gap shorter than asked (tolerance 5 ms)", "fast.test: /c~d began 10 ms", "--kills", "1")

    def test_robots_again_after_a_kill(self):
        self.shift(5, 8, 0.1)
        self.requests.append(request(100.05, SLOW, "/robots.txt"))
        self.assertPasses("--kills", "1")

    def test_disallowed(self):
        self.log = []
        self.requests.append(request(101, FAST, "/closed"))
        code, output = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("FAIL  no disallowed URL was requested: 1 violations\n        disallowed: http://fast.test/closed", output)

    def test_never_requested(self):
        del self.requests[4]
        self.assertFails("every reachable and allowed URL was requested", "never requested: http://fast.test/c~d")

    def test_robots_never_requested(self):
        del self.requests[5]
        code, output = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("never requested: http://slow.test/robots.txt", output)
        self.assertIn("slow.test: the first request was /", output)

    def test_robots_late(self):
        first, second = self.requests[0], self.requests[1]
        first["uri"], second["uri"] = second["uri"], first["uri"]
        self.assertFails("robots.txt was the first request of each host", "fast.test: the first request was /")

    def test_something_else(self):
        self.requests.append(request(101, FAST, "/style.css"))
        self.assertFails("nothing else was requested", "not reachable: http://fast.test/style.css")

    def test_unknown_host(self):
        self.requests += [request(101, "third.test", "/robots.txt")]
        self.assertFails("nothing else was requested", "not reachable: http://third.test/robots.txt")

    def test_head(self):
        self.requests[3]["method"] = "HEAD"
        self.assertFails("only GET was used", "HEAD http://fast.test/b")

    def test_two_agents(self):
        self.requests[3]["agent"] = "permessotest/2"
        self.assertFails("one User-Agent, and it holds the product token", "2 different")

    def test_wrong_agent(self):
        for r in self.requests:
            r["agent"] = "Go-http-client/1.1"
        self.assertFails("one User-Agent, and it holds the product token", "without permessotest")

    def test_page_not_listed(self):
        del self.pages[2]
        self.assertFails("pages.jsonl lists every URL to fetch", "not listed: http://fast.test/b")

    def test_page_listed_for_nothing(self):
        self.pages.append("http://fast.test/other")
        self.assertFails("pages.jsonl lists nothing else", "listed: http://fast.test/other")

    def test_page_listed_twice(self):
        self.pages.append("http://fast.test/b")
        self.assertFails("pages.jsonl lists nothing more often than it was requested", "listed 2 times, requested 1 times: http://fast.test/b", "--kills", "5")

    def test_page_listed_again_after_a_kill(self):
        self.requests.append(request(101.0, FAST, "/b"))
        self.pages.append("http://fast.test/b")
        self.assertPasses("--kills", "1", "--slack", "1")

    def test_crawl_log_empty(self):
        self.log = []
        code, output = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("logged 0 of 1 times: http://fast.test/b", output)
        self.assertIn("no -9998 line: http://fast.test/closed", output)

    def test_crawl_log_invents(self):
        self.log = ["2026-01-01T00:00:00.000Z 200 10 http://fast.test/x L - text/html #1 x sha1:x - -"]
        self.assertFails("crawl.log has no request that was not made", "logged 1 times, made 0 times: http://fast.test/x", "--kills", "1")

    def pauses(self, *notes):
        """A log of the usual requests, the first of them with annotations."""
        self.log = ["2026-01-01T00:00:00.000Z %5d 10 http://%s%s L - text/html #1 x sha1:x - %s" % (
            r["status"], r["host"], r["uri"], notes[i] if i < len(notes) else "-") for i, r in enumerate(self.requests)]
        self.log += ["2026-01-01T00:00:00.000Z -9998 - %s L - - #1 - - - -" % url for url in self.disallowed]

    def test_pause_kept(self):
        self.pauses("start:2026-01-01T00:00:00.000000Z,took:1.000000", "start:2026-01-01T00:00:03.000000Z,took:1.000000,asked:2.000000,clock:own",
                    "start:2026-01-01T00:00:05.000000Z,took:1.000000,asked:29.000000,clock:restart,since:2025-12-31T23:59:30.000000Z")
        self.assertPasses()

    def test_pause_not_kept(self):
        self.pauses("start:2026-01-01T00:00:00.000000Z,took:1.000000", "start:2026-01-01T00:00:02.500000Z,took:1.000000,asked:2.000000,clock:own")
        self.assertFails("crawl.log has no request that did not keep it", "500 ms before own wanted")

    def test_pause_not_said(self):
        self.pauses("start:2026-01-01T00:00:00.000000Z,took:1.000000", "start:2026-01-01T00:00:02.500000Z,took:1.000000")
        self.assertFails("crawl.log says which pause each request had to keep", "http://fast.test/ at 2026")

    def test_every_violation_has_its_place_in_the_sum(self):
        self.requests = [request(100, FAST, "/x%d" % i) for i in range(30)]
        code, output = self.run_check("--show", "3")
        self.assertEqual(code, 1)
        self.assertIn("and 27 more", output)


class Reachable(unittest.TestCase):
    def test_canonical(self):
        for url, want in {
            "HTTP://A.Test:80/x/../%7eb/./%c3%a9?q=%41#f": "http://a.test/~b/%C3%A9?q=A",
            "http://a.test": "http://a.test/",
            "http://a.test:8080/a b/é": "http://a.test:8080/a%20b/%C3%A9",
            "http://a.test/a/..": "http://a.test/",
            "http://a.test/a//b/.": "http://a.test/a//b/",
            "http://a.test/%2F%25": "http://a.test/%2F%25",
            "mailto:a@b": None,
        }.items():
            self.assertEqual(canonical(url), want, url)

    def test_resolve(self):
        for reference, want in {" b\n.html ": "http://a.test/x/b.html", "\\": "http://a.test/", "?q": "http://a.test/x/y?q",
                                "": "http://a.test/x/y", "//b.test/c": "http://b.test/c", "javascript:x": None}.items():
            self.assertEqual(resolve("http://a.test/x/y", reference), want, reference)

    def test_links(self):
        def links(text):
            return [link and link.replace("http://a.test", "") for link in Page("http://a.test/x/y", text).links()]
        self.assertEqual(links('<base href="/z/"><a href=b><area href=c><iframe src=d></iframe><frame src=e>'), ["/z/b", "/z/c", "/z/d", "/z/e"])
        self.assertEqual(links('<link rel=next href=b><link rel="alternate stylesheet" href=c><link href=d><link rel=icon href=e>'), ["/x/b"])
        self.assertEqual(links('<meta http-equiv=refresh content="0; URL=b"><meta http-equiv=refresh content="0; ./c"><meta http-equiv=refresh content=5>'), ["/x/b", "/x/c"])
        self.assertEqual(links('<a rel="x NoFollow" href=b></a><a href=c>'), ["/x/c"])
        self.assertEqual(links('<meta name=robots content="noindex,nofollow"><a href=c>'), [])

    def test_robots(self):
        robots = Robots("User-agent: *\nDisallow: /\n\nUser-agent: Me\nDisallow: /a\nAllow: /a/*.html$\nDisallow: /*?q=\n"
                        "Disallow: /t\nAllow: /t\n\nUser-agent: other\nUser-agent: ME\nDisallow: /é\n", "me")
        for path, want in {"/": True, "/a": False, "/a/b.html": True, "/a/b.htmlx": False, "/x?q=1": False, "/x?p=1&q=1": True,
                           "/t": True, "/%C3%A9": False, "/robots.txt": True}.items():
            self.assertEqual(robots.allows("http://a.test" + path), want, path)
        self.assertFalse(Robots("User-agent: *\nDisallow: /", "me").allows("http://a.test/x"))


if __name__ == "__main__":
    unittest.main()

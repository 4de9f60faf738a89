#!/usr/bin/env python3
"""Works out, independently of the crawler, what a crawl has to fetch.

Starts from the seeds, requests every page from a server on 127.0.0.1, and follows
the links within the hosts of the seeds, without a limit of depth. Links are

  - href of a and area, src of iframe and frame, meta refresh;
  - href of link if rel has a type of link that leads to a document (LINK_RELS,
    not stylesheet or icon);
  - the Location of a redirect, which is a URL like any other.

base href is respected, rel=nofollow, meta robots nofollow and X-Robots-Tag
nofollow are obeyed, and so is robots.txt (RFC 9309). Only text/html and
application/xhtml+xml are searched for links.

Writes the URLs to be fetched (without robots.txt) to the file --fetched
and those that robots.txt forbids to --disallowed, one per line, sorted.
"""
import argparse
import collections
import concurrent.futures
import html.parser
import http.client
import os
import re
import string
import urllib.parse

LINK_RELS = set("next prev previous canonical alternate index contents start help author license bookmark up top "
                "search home chapter section subsection appendix glossary copyright begin end first last parent toc "
                "privacy-policy terms-of-service".split())
UNRESERVED = set(string.ascii_letters + string.digits + "-._~")


def normal_percents(text):
    """Decodes %XX of unreserved characters, encodes characters that a URL must not contain."""
    def decode(match):
        char = chr(int(match[1], 16))
        return char if char in UNRESERVED else match[0].upper()
    text = re.sub("%([0-9A-Fa-f]{2})", decode, text)
    return re.sub(r'[^!#$%&-;=?-\[\]_a-z|~]',
                  lambda m: "".join("%%%02X" % b for b in m[0].encode("utf-8", "surrogateescape")), text)


def canonical(url):
    """The one spelling of an absolute http URL; None for other schemes and for text that is not a URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    if port and port != {"http": 80, "https": 443}[parts.scheme]:
        host += ":%d" % port
    path = normal_percents(parts.path or "/").split("/")[1:]
    segments = []
    for segment in path:
        if segment == "..":
            segments = segments[:-1]
        elif segment != ".":
            segments.append(segment)
    if path[-1] in (".", ".."):
        segments.append("")
    query = "?" + normal_percents(parts.query) if parts.query else ""
    return "%s://%s/%s%s" % (parts.scheme, host, "/".join(segments), query)


def resolve(base, reference):
    """A reference as a browser reads it: outer blanks and inner line ends do not count, \\ is /."""
    reference = re.sub("[\t\r\n]", "", reference.strip(" \t\r\n\f"))
    if not re.match("(?!https?:)[a-zA-Z][a-zA-Z0-9+.-]*:", reference):
        path, mark, rest = re.match(r"(?s)([^?#]*)([?#]?)(.*)", reference).groups()
        reference = path.replace("\\", "/") + mark + rest
    try:
        return canonical(urllib.parse.urljoin(base, reference))
    except ValueError:
        return None


class Page(html.parser.HTMLParser):
    def __init__(self, url, text):
        super().__init__()
        self.base, self.based, self.nofollow, self.references = url, False, False, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        got = {name: value or "" for name, value in reversed(attributes)}
        rels = got.get("rel", "").lower().split()
        if tag == "base" and "href" in got and not self.based:
            self.base, self.based = resolve(self.base, got["href"]) or self.base, True
        elif tag == "meta":
            content = got.get("content", "")
            if got.get("name", "").lower() == "robots":
                self.nofollow |= forbids_following(content)
            refresh = re.match(r"""\s*[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.+))""", content, re.I | re.S)
            if got.get("http-equiv", "").lower() == "refresh" and refresh:
                self.references.append(refresh[1] or refresh[2] or refresh[3] or "")
        elif "nofollow" in rels:
            pass
        elif tag in ("a", "area") and "href" in got:
            self.references.append(got["href"])
        elif tag in ("iframe", "frame") and "src" in got:
            self.references.append(got["src"])
        elif tag == "link" and "href" in got and LINK_RELS & set(rels) and not {"stylesheet", "icon"} & set(rels):
            self.references.append(got["href"])

    def links(self):
        return [] if self.nofollow else [resolve(self.base, reference) for reference in self.references]


def forbids_following(directives):
    return bool({"nofollow", "none"} & set(re.split(r"[\s,]+", directives.lower())))


class Robots:
    """The rules of one robots.txt for one product token."""

    def __init__(self, text, token):
        groups, tokens, open_ = collections.defaultdict(list), [], False
        for line in text.lstrip("\ufeff").splitlines():
            key, colon, value = line.split("#")[0].partition(":")
            key, value = key.strip().lower(), value.strip()
            if key == "user-agent":
                tokens = tokens + [value.lower()] if open_ else [value.lower()]
                open_ = True
                groups[value.lower()] += []
            elif key in ("allow", "disallow"):
                open_ = False
                for name in tokens:
                    groups[name].append((key == "allow", value))
        self.rules = []
        for allow, pattern in groups.get(token.lower(), groups.get("*", [])):
            if pattern:
                pattern = normal_percents(pattern)
                end = "$" if pattern.endswith("$") else ""
                parts = pattern[:len(pattern) - len(end)].split("*")
                self.rules.append((len(pattern), allow, re.compile(".*".join(map(re.escape, parts)) + ("\\Z" if end else ""), re.S)))

    def allows(self, url):
        parts = urllib.parse.urlsplit(url)
        target = parts.path + ("?" + parts.query if parts.query else "")
        if target == "/robots.txt":
            return True
        return max(((length, allow) for length, allow, rule in self.rules if rule.match(target)), default=(0, True))[1]


connections = {}


def get(port, url):
    """One request, no redirect followed: status, headers, body."""
    process = os.getpid()
    if process not in connections:
        connections[process] = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection = connections[process]
    parts = urllib.parse.urlsplit(url)
    connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""), headers={"Host": parts.netloc})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def visit(port, url):
    """The links of the page at a URL, or the target of its redirect."""
    status, headers, body = get(port, url)
    if status in (301, 302, 303, 307, 308):
        return [resolve(url, headers.get("Location", ""))]
    if headers.get_content_type() not in ("text/html", "application/xhtml+xml"):
        return []
    if any(forbids_following(value) for value in headers.get_all("X-Robots-Tag", [])):
        return []
    declared = re.search(rb"<meta[^>]*charset\s*=\s*[\"']?([\w-]+)", body[:2048], re.I)
    charset = headers.get_content_charset() or (declared and declared[1].decode()) or "utf-8"
    return Page(url, body.decode(charset, "replace")).links()


def walk(port, token, seeds, processes):
    """The set of URLs to be fetched and the set of those that robots.txt forbids."""
    robots = {}
    for seed in seeds:
        root = urllib.parse.urljoin(seed, "/")
        if root not in robots:
            status, _, body = get(port, root + "robots.txt")
            robots[root] = Robots(body.decode("utf-8", "replace") if status == 200 else "", token)
    fetched, disallowed, found = set(), set(), set(seeds)
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        while found:
            rules = {url: robots.get(urllib.parse.urljoin(url, "/")) for url in found}
            allowed = sorted(url for url in found if rules[url] and rules[url].allows(url) and not url.endswith("/robots.txt"))
            disallowed |= {url for url in found if rules[url] and not rules[url].allows(url)}
            fetched.update(allowed)
            found = set()
            for links in pool.map(visit, [port] * len(allowed), allowed, chunksize=8):
                found.update(links)
            found -= fetched | disallowed | {None}
    return fetched, disallowed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="of the server that plays all hosts")
    parser.add_argument("--token", required=True, help="product token, for robots.txt")
    parser.add_argument("--seeds", required=True, help="file with one URL per line")
    parser.add_argument("--fetched", required=True, help="file to write")
    parser.add_argument("--disallowed", required=True, help="file to write")
    options = parser.parse_args()
    with open(options.seeds) as file:
        seeds = [canonical(line.strip()) for line in file if line.strip() and not line.startswith("#")]
    fetched, disallowed = walk(options.port, options.token, seeds, os.cpu_count())
    for name, urls in (options.fetched, fetched), (options.disallowed, disallowed):
        with open(name, "w") as file:
            file.writelines(url + "\n" for url in sorted(urls))
    count = collections.Counter(urllib.parse.urlsplit(url).hostname for url in fetched)
    closed = collections.Counter(urllib.parse.urlsplit(url).hostname for url in disallowed)
    for host in sorted(count):
        print("reachable: %-22s %5d to fetch, %4d disallowed" % (host, count[host], closed[host]))
    print("reachable: %d URLs to fetch, %d disallowed" % (len(fetched), len(disallowed)))


if __name__ == "__main__":
    main()

"""scrapy_links.py <NAMES

Prints what Scrapy's LinkExtractor finds in each of the HTML files whose names it
reads, one a line: the file, which extractor found it (twice), and the URL, with tabs
between.
"default" is the extractor with its default settings. The others have more tags and attributes,
and deny no extension: "link" and "rel-link" find navigation, "embed" and "rel-embed" page
requisites; a URL that is found twice may be printed twice.
"""
import sys

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

NEEDED = "stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon manifest preload modulepreload"
needed = " or ".join(f'contains(concat(" ", normalize-space(@rel), " "), " {rel} ")' for rel in NEEDED.split())

extractors = {
    "default": LinkExtractor(),
    "link": LinkExtractor(
        tags=("a", "area", "iframe", "frame", "blockquote", "q", "ins", "del"),
        attrs=("href", "src", "cite", "longdesc", "data-src"),
        deny_extensions=(),
        unique=False,
    ),
    "rel-link": LinkExtractor(tags="link", deny_extensions=(), unique=False, restrict_xpaths=f"//link[not({needed})]"),
    "embed": LinkExtractor(
        tags=("img", "script", "source", "input", "video", "audio", "track", "embed", "object", "body", "table", "tr", "td", "th"),
        attrs=("src", "data", "poster", "background", "data-src", "data-original"),
        deny_extensions=(),
        unique=False,
    ),
    "rel-embed": LinkExtractor(tags="link", deny_extensions=(), unique=False, restrict_xpaths=f"//link[{needed}]"),
}


def page(name):
    with open(name, "rb") as f:
        body = f.read()
    response = HtmlResponse("http://docs.test" + name, body=body, headers={"Content-Type": "text/html"})
    for which, extractor in extractors.items():
        for link in extractor.extract_links(response):
            print(name, which, which, link.url, sep="\t")


for line in sys.stdin:
    page(line.rstrip("\n"))

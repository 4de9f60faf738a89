import sys
from pathlib import Path
from urllib.parse import urlsplit

from scrapy.robotstxt import ProtegoRobotParser

token, sites = "examplebot", Path("sites")
rules = {}
for url in map(str.strip, sys.stdin):
    parts = urlsplit(url)
    if parts.netloc not in rules:
        body = (sites / parts.scheme / parts.netloc / "robots.txt").read_bytes()
        rules[parts.netloc] = ProtegoRobotParser(body, None)
    print("allow" if rules[parts.netloc].allowed(url, token) else "disallow", url)

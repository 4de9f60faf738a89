import os.path
import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import scrapy


class MirrorSpider(scrapy.Spider):
    name = "mirror"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "REDIRECT_ENABLED": False}
    handle_httpstatus_list = [301, 302, 303, 307, 308]
    in_style = re.compile(r"""(url\(\s*["']?)([^"')\s]+)""")

    def parse(self, response):
        files = self.state.setdefault("files", {})
        if response.status != 200:
            self.state.setdefault("redirects", {})[response.url] = response.urljoin(response.headers["Location"].decode())
            yield response.follow(response.headers["Location"].decode())
            return
        kind = response.headers["Content-Type"].decode().split(";")[0]
        if kind == "text/html" and "noarchive" in response.css("meta[name=robots]::attr(content)").get(""):
            self.logger.info("no copy of %s", response.url)
        else:
            files[response.url] = self.name_of(response.url, kind)
            self.save(files[response.url], response.body)
        if kind == "text/html":
            yield from response.follow_all(css="a, link[rel=stylesheet]")
            yield from response.follow_all(css="script::attr(src), img::attr(src)")
        elif kind == "text/css":
            yield from (response.follow(ref) for _, ref in self.in_style.findall(response.text))

    def name_of(self, url, kind):
        url = urlsplit(url)
        name = url.path.lstrip("/") + ("_" + url.query.replace("/", "_") if url.query else "")
        if kind == "text/html" and not name.endswith(".html"):
            name = os.path.join(name, "index.html")
        return name

    def save(self, name, body):
        path = Path("mirror") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def closed(self, reason):
        """Makes the links of the copies relative, when all copies are known."""
        for url, name in self.state.get("files", {}).items():
            if name.endswith(".html"):
                page = scrapy.Selector(text=(Path("mirror") / name).read_text())
                for element in page.xpath("//*[@href or @src]"):
                    for attribute in {"href", "src"} & element.attrib.keys():
                        element.root.set(attribute, self.link(url, name, element.attrib[attribute]))
                self.save(name, page.get().encode())
            elif name.endswith(".css"):
                text = (Path("mirror") / name).read_text()
                self.save(name, self.in_style.sub(lambda m: m[1] + self.link(url, name, m[2]), text).encode())

    def link(self, url, name, ref):
        target, fragment = urldefrag(urljoin(url, ref))
        copy = self.state["files"].get(self.state.get("redirects", {}).get(target, target))
        if copy:
            target = os.path.relpath(copy, os.path.dirname(name) or ".")
        return target + ("#" + fragment if fragment else "")

import hashlib
import json
from pathlib import Path

from scrapy.spiders import SitemapSpider


class ChangesSpider(SitemapSpider):
    name = "changes"
    sitemap_urls = ["http://shop.test/robots.txt"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": "cache",
    }
    file = Path("changes.json")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.before = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.now = {}

    def parse(self, response):
        texts = response.xpath("//body//text()[not(ancestor::script or ancestor::style)]").getall()
        digest = hashlib.sha256(" ".join("".join(texts).split()).encode()).hexdigest()
        self.now[response.url] = digest
        if response.url not in self.before:
            yield {"change": "new", "url": response.url}
        elif self.before[response.url] != digest:
            yield {"change": "modified", "url": response.url}

    def closed(self, reason):
        for url in self.before.keys() - self.now.keys():
            print("gone", url)
        self.file.write_text(json.dumps(self.now))

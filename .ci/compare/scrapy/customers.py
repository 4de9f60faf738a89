import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import Crawler, CrawlerRunner
from twisted.internet import reactor
from twisted.web import resource, server

directory = Path("customers")


class SiteSpider(scrapy.Spider):
    name = "customer"

    def __init__(self, seeds):
        super().__init__(start_urls=seeds, allowed_domains=[urlsplit(seed).hostname for seed in seeds])

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")


class Service(resource.Resource):
    isLeaf = True
    runner = CrawlerRunner()
    running = {}

    def resume(self):
        for file in directory.glob("*/order.json"):
            order = json.loads(file.read_text())
            if not order.get("stopped"):
                self.start(file.parent.name, order)

    def start(self, name, order):
        crawler = Crawler(SiteSpider, {
            "ROBOTSTXT_OBEY": True,
            "JOBDIR": str(directory / name / "job"),
            "FEEDS": {str(directory / name / "pages.jsonl"): {"format": "jsonlines"}},
            "CLOSESPIDER_PAGECOUNT": order.get("pages", 0),
            "DOWNLOAD_DELAY": max(1, order.get("delay_seconds", 0)),
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        })
        self.running[name] = crawler
        self.runner.crawl(crawler, seeds=order["seeds"]).addBoth(lambda _: self.running.pop(name))

    def save(self, name, order):
        file = directory / name / "order.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".new").write_text(json.dumps(order))
        file.with_suffix(".new").rename(file)

    def render_GET(self, request):
        return json.dumps({
            file.parent.name: self.running[file.parent.name].stats.get_stats() if file.parent.name in self.running else {}
            for file in directory.glob("*/order.json")
        }, default=str).encode()

    def render_PUT(self, request):
        name, order = request.postpath[-1].decode(), json.load(request.content)
        if not re.fullmatch("[a-z0-9-]{1,40}", name) or not order.get("seeds") or name in self.running:
            request.setResponseCode(400)
            return b"needs a name of letters, digits and hyphens that does not run, and seeds\n"
        self.save(name, order)
        self.start(name, order)
        request.setResponseCode(202)
        return b""

    def render_DELETE(self, request):
        name = request.postpath[-1].decode()
        if not (directory / name / "order.json").exists():
            request.setResponseCode(404)
            return b"no such customer\n"
        self.save(name, json.loads((directory / name / "order.json").read_text()) | {"stopped": True})
        if name in self.running:
            self.running[name].stop()
        request.setResponseCode(202)
        return b""


service = Service()
service.resume()
reactor.listenTCP(8121, server.Site(service), interface="127.0.0.1")
reactor.run()

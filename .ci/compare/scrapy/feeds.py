import scrapy


class FeedsSpider(scrapy.Spider):
    name = "feeds"
    start_urls = [f"http://shop.test/feed/{n}" for n in range(1, 5)]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": "cache",
    }

    def parse(self, response):
        printed = self.state.setdefault("printed", set())
        response.selector.remove_namespaces()
        for item in response.xpath("//item | //entry"):
            link = item.xpath("link/text() | link/@href").get()
            if link not in printed:
                printed.add(link)
                yield {"title": item.xpath("title/text()").get(), "url": link}

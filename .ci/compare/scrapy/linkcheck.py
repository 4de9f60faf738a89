import scrapy


class LinkcheckSpider(scrapy.Spider):
    name = "linkcheck"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "HTTPERROR_ALLOW_ALL": True}

    def parse(self, response):
        if response.status >= 400:
            on = response.request.headers.get("Referer", b"").decode()
            yield {"url": response.url, "on": on, "why": response.status}
            return
        for a in response.css("a[href]"):
            yield response.follow(a, errback=self.failed)

    def failed(self, failure):
        if not failure.check(scrapy.exceptions.IgnoreRequest):
            yield {"url": failure.request.url, "why": repr(failure.value)}

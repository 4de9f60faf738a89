import scrapy
from w3lib.url import url_query_cleaner


class CanonicalSpider(scrapy.Spider):
    name = "canonical"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "CLOSESPIDER_PAGECOUNT": 1000}
    tracking = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "fbclid", "gclid"]

    def parse(self, response):
        original = response.css("link[rel=canonical]::attr(href)").get()
        if original and response.urljoin(original) != response.url:
            yield response.follow(original)
        else:
            yield {"url": response.url}
        for href in response.css("a::attr(href)").getall():
            url = url_query_cleaner(response.urljoin(href), self.tracking, remove=True)
            yield response.follow(url.removesuffix("index.html"))

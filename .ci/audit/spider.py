"""Follows all links of one site with Scrapy and its default settings."""
import scrapy


class Spider(scrapy.Spider):
    name = "all"

    def __init__(self, start=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse)

import re
from datetime import date

import scrapy


class PolicySpider(scrapy.Spider):
    name = "policy"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "CLOSESPIDER_PAGECOUNT": 100}
    dated = re.compile(r"/(\d{4})[/-](\d\d)[/-](\d\d)\b")
    archive = re.compile(r"\b(archives?|older|previous)\b", re.I)

    def parse(self, response, day=None):
        yield {"url": response.url, "title": response.css("title::text").get()}
        shown = response.css("time::attr(datetime)").get("")[:10] or day
        for a in response.css("a[href]"):
            day = shown
            if found := self.dated.search(a.attrib["href"]):
                day = "-".join(found.groups())
            age = (date.today() - date.fromisoformat(day)).days if day else 0
            if self.archive.search(a.css("::text").get("")):
                age = 10000
            yield response.follow(a, priority=-age, cb_kwargs={"day": day})

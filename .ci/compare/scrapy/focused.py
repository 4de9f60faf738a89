import scrapy


class FocusedSpider(scrapy.Spider):
    name = "focused"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "CLOSESPIDER_PAGECOUNT": 100}

    def parse(self, response):
        score = self.count(response.text)
        yield {"url": response.url, "score": score, "title": response.css("title::text").get()}
        for a in response.css("a[href]"):
            yield response.follow(a, priority=20 * self.count(a.attrib["href"]) + score)

    def count(self, text):
        return sum(text.lower().count(word) for word in self.words.lower().split())

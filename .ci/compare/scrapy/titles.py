import scrapy


class TitlesSpider(scrapy.Spider):
    name = "titles"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {"ROBOTSTXT_OBEY": True, "CLOSESPIDER_PAGECOUNT": 50}

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")

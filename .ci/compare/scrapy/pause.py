import scrapy


class PauseSpider(scrapy.Spider):
    name = "pause"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "CLOSESPIDER_PAGECOUNT": 50,
        "DOWNLOAD_DELAY": 2,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")

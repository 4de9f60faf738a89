import scrapy


class LinesSpider(scrapy.Spider):
    name = "lines"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    handle_httpstatus_list = [404, 410, 500]
    custom_settings = {"ROBOTSTXT_OBEY": True, "FEEDS": {"items.jsonl": {"format": "jsonlines"}}}

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")

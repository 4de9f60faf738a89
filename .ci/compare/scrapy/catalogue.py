import scrapy


class CatalogueSpider(scrapy.Spider):
    name = "catalogue"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "FEEDS": {"books.csv": {"format": "csv"}, "books.jsonl": {"format": "jsonlines"}},
    }

    def parse(self, response):
        yield from response.follow_all(css="a[rel=item]", callback=self.parse_book)
        yield from response.follow_all(css="a:not([rel=item])")

    def parse_book(self, response):
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "price": response.css(".price::text").get(),
        }
        yield from response.follow_all(css="a")

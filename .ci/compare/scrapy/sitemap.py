from scrapy.spiders import SitemapSpider


class ListSpider(SitemapSpider):
    name = "sitemap"
    sitemap_urls = ["http://shop.test/robots.txt"]
    custom_settings = {"ROBOTSTXT_OBEY": True}

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}

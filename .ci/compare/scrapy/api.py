import scrapy
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from twisted.internet import reactor
from twisted.internet.task import deferLater


class PatientMiddleware(RetryMiddleware):
    async def process_response(self, request, response, spider):
        if response.status in (429, 503):
            seconds = int(response.headers.get("Retry-After", b"1"))
            await deferLater(reactor, seconds, lambda: None)
            return request.replace(dont_filter=True)
        return super().process_response(request, response, spider)


class ApiSpider(scrapy.Spider):
    name = "api"
    start_urls = ["http://shop.test/items"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
            PatientMiddleware: 550,
        },
    }

    def parse(self, response):
        page = response.json()
        for item in page["items"]:
            yield {"name": item["name"]}
        if page.get("next"):
            yield response.follow(page["next"])

import hashlib
from datetime import datetime, timezone
from io import BytesIO

import scrapy
from scrapy.pipelines.files import FilesPipeline


class MediaPipeline(FilesPipeline):
    def file_path(self, request, response=None, info=None, *, item=None):
        if response is None:
            return super().file_path(request, response, info, item=item)
        return hashlib.sha256(response.body).hexdigest()

    def file_downloaded(self, response, request, info, *, item=None):
        name = self.file_path(request, response, info, item=item)
        time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        about = {"url": response.url, "page": item["page"], "license": item["license"], "time": time}
        self.store.persist_file(name, BytesIO(response.body), info, about, {"Content-Type": response.headers["Content-Type"].decode()})
        return name


class MediaSpider(scrapy.Spider):
    name = "media"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "ITEM_PIPELINES": {MediaPipeline: 1},
        "FILES_STORE": "s3://bucket/",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
    }

    def parse(self, response):
        files = response.css("img, source, video, audio").xpath("@src").getall()
        license = response.css("[rel~=license]::attr(href)").get("")
        yield {
            "page": response.url,
            "license": response.urljoin(license) if license else "",
            "file_urls": [response.urljoin(file) for file in files],
        }
        yield from response.follow_all(css="a")

import http.client
import socket
from functools import lru_cache
from urllib.parse import urlsplit

import scrapy
from scrapy.responsetypes import responsetypes
from twisted.internet.threads import deferToThread


class OwnHandler:
    """Fetches with http.client, from the same address of a host in the whole run."""

    lazy = False

    def download_request(self, request, spider):
        return deferToThread(self.fetch, request)

    @lru_cache
    def address(self, host, port):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]

    def fetch(self, request):
        url = urlsplit(request.url)
        connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=30)
        connection.sock = socket.create_connection(self.address(url.hostname, url.port or 80), 30)
        target = url.path + ("?" + url.query if url.query else "")
        connection.request("GET", target or "/", headers=request.headers.to_unicode_dict())
        answer = connection.getresponse()
        body, headers = answer.read(4 << 20), dict(answer.getheaders())
        connection.close()
        kind = responsetypes.from_args(headers=scrapy.http.Headers(headers), url=request.url, body=body)
        return kind(request.url, answer.status, headers, body, request=request)


class OwnSpider(scrapy.Spider):
    name = "ownfetcher"
    allowed_domains = ["shop.test"]
    start_urls = ["http://shop.test/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "CLOSESPIDER_PAGECOUNT": 100,
        "HTTPERROR_ALLOW_ALL": True,
        "DOWNLOAD_HANDLERS": {"http": OwnHandler},
    }

    def parse(self, response):
        yield {"url": response.url, "status": response.status}
        if response.status == 200:
            yield from response.follow_all(css="a")

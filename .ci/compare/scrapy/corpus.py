from datetime import datetime, timezone

import scrapy


class CorpusSpider(scrapy.Spider):
    name = "corpus"
    custom_settings = {"ROBOTSTXT_OBEY": True}
    text = "//body//text()[not(ancestor::script or ancestor::style or ancestor::noscript or ancestor::template)]"

    def start_requests(self):
        for section in ["docs", "news"]:
            yield scrapy.Request(f"http://shop.test/{section}/", cb_kwargs={"section": section})

    def parse(self, response, section, link=""):
        refused = response.css("meta[name=robots]::attr(content)").getall()
        refused += [value.decode() for value in response.headers.getlist("X-Robots-Tag")]
        if "noai" not in ",".join(refused):
            yield {
                "url": response.url,
                "title": response.css("title::text").get(),
                "text": " ".join("".join(response.xpath(self.text).getall()).split()),
                "time": datetime.now(timezone.utc).isoformat(),
                "tag": {"section": section, "link": link},
            }
        for a in response.css("a[href]"):
            if response.urljoin(a.attrib["href"]).startswith(f"http://shop.test/{section}/"):
                link = " ".join("".join(a.css("::text").getall()).split())
                yield response.follow(a, cb_kwargs={"section": section, "link": link})

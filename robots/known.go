package robots

import "strings"

// KnownToken reports whether token is the name of a well-known robot, HTTP library or browser,
// and returns the owner of the name. A program can use KnownToken to refuse such a name as the
// name of its own crawler. The case of ASCII letters does not matter.
//
// The list is not complete: a name that is not in it may still be taken.
func KnownToken(token string) (owner string, known bool) {
	for _, k := range knownTokens {
		for name := range strings.FieldsSeq(k.tokens) {
			if equalFold(token, name) {
				return k.owner, true
			}
		}
	}
	return "", false
}

var knownTokens = [...]struct{ owner, tokens string }{
	// Search engines.
	{"Google", "Googlebot Googlebot-Image Googlebot-News Googlebot-Video Googlebot-Mobile Storebot-Google Google-InspectionTool GoogleOther GoogleOther-Image GoogleOther-Video Google-Extended Google-CloudVertexBot Google-Safety Google-Read-Aloud Google-Site-Verification Google-NotebookLM Google-Firebase Google-Agent GoogleProducer Google-CWS FeedFetcher-Google APIs-Google AdsBot-Google AdsBot-Google-Mobile AdsBot-Google-Mobile-Apps Mediapartners-Google DuplexWeb-Google GoogleWeblight GoogleAssociationService Google-Adwords-Instant"},
	{"Microsoft Bing", "Bingbot bingbot-media BingPreview msnbot msnbot-media adidxbot MicrosoftPreview BingVideoPreview"},
	{"Yahoo", "Slurp YahooSeeker Yahoo-Blogs Yahoo-MMCrawler YahooMailProxy YahooCacheSystem Y-J-BRW Y-J-ASR Y-J-WSC"},
	{"Yandex", "YandexBot Yandex YandexImages YandexVideo YandexMedia YandexBlogs YandexNews YandexMetrika YandexMobileBot YandexAccessibilityBot YandexAdditional YandexAdditionalBot YandexDirect YandexDirectDyn YandexFavicons YandexMarket YandexPagechecker YandexRenderResourcesBot YandexScreenshotBot YandexSitelinks YandexTurbo YandexVertis YandexVerticals YandexWebmaster YandexOntoDB YandexCalendar YandexForDomain YandexSpravBot YandexSearchShop YandexTracker YandexUserproxy YaDirectFetcher"},
	{"Baidu", "Baiduspider Baiduspider-image Baiduspider-video Baiduspider-news Baiduspider-favo Baiduspider-cpro Baiduspider-ads Baiduspider-render Baidu-YunGuanCe"},
	{"DuckDuckGo", "DuckDuckBot DuckDuckGo-Favicons-Bot DuckAssistBot DuckDuckBot-Https"},
	{"Apple", "Applebot Applebot-Extended AppleNewsBot iTMS"},
	{"Sogou", "Sogou Sogou-web-spider Sogou-Test-Spider Sogou-News-Spider Sogou-Orion-spider"},
	{"Qihoo", "HaosouSpider"},
	{"Shenma", "YisouSpider"},
	{"Naver", "Yeti NaverBot Naverbot-Yeti Blueno"},
	{"Daum", "Daumoa Daum"},
	{"Seznam", "SeznamBot Seznam Seznam-Ads SklikBot"},
	{"Qwant", "Qwantify Qwantbot Qwantify-prod"},
	{"Mojeek", "MojeekBot"},
	{"Exalead", "Exabot ExaleadCloudview"},
	{"Brave", "Bravebot"},
	{"Marginalia", "search-marginalia-nu"},
	{"Ecosia", "EcosiaBot"},
	{"Kagi", "KagiBot Teclisbot"},
	{"Mail.Ru", "MailRu MailRU_Bot"},
	{"Coc Coc", "coccocbot coccocbot-web coccocbot-image"},
	{"Gigablast", "Gigabot GigablastOpenSource"},
	{"Huawei Petal Search", "PetalBot AspiegelBot"},
	{"Ask", "Teoma Ask-Jeeves"},
	{"Alexa", "ia_archiver ia_archiver-web"},
	{"Linguee", "Linguee Linguee-Bot LingueeBot"},
	{"YaCy", "yacybot"},

	// AI models and assistants, and crawlers that collect data for them.
	{"OpenAI", "GPTBot ChatGPT-User OAI-SearchBot ChatGPT-Browser OAI-AdsBot"},
	{"Anthropic", "ClaudeBot Claude-Web Claude-User Claude-SearchBot Claude-Code anthropic-ai"},
	{"Perplexity", "PerplexityBot Perplexity-User"},
	{"Meta", "facebookexternalhit facebookcatalog FacebookBot Facebot meta-externalagent meta-externalfetcher meta-externalads meta-webindexer MetaInspector"},
	{"Amazon", "Amazonbot Amzn-SearchBot Amzn-User bedrockbot NovaAct Amazon-Kendra amazon-QBusiness amazonbuyforme AmazonAdBot"},
	{"ByteDance", "Bytespider TikTokSpider ByteSpider-image"},
	{"Cohere", "cohere-ai cohere-training-data-crawler"},
	{"Mistral", "MistralAI-User MistralBot MistralAI-Index"},
	{"xAI", "GrokBot xAI-Grok xAI-Bot Grok-DeepSearch"},
	{"DeepSeek", "DeepSeekBot"},
	{"You.com", "YouBot"},
	{"Diffbot", "Diffbot"},
	{"Huggingface", "HuggingFace-Bot"},
	{"Common Crawl", "CCBot"},
	{"Timpi", "Timpibot"},
	{"Webz.io", "omgili omgilibot Webzio-Extended webzio"},
	{"Velen", "VelenPublicWebCrawler"},
	{"ImagesiftBot", "ImagesiftBot"},
	{"LAION", "laion-huggingface-processor img_dataset imgdataset"},
	{"Kangaroo", "Kangaroo"},
	{"Phind", "PhindBot"},
	{"Andi", "Andibot"},
	{"Liner", "LinerBot"},
	{"Quora", "Quora-Bot Poe-Bot"},
	{"Firecrawl", "FirecrawlAgent"},
	{"iAsk", "iAskBot iaskspider"},
	{"ICC", "ICC-Crawler"},
	{"Sidetrade", "SidetradeIndexerBot Sidetrade"},
	{"PanguBot", "PanguBot"},
	{"Brightbot", "Brightbot"},

	// Archives and libraries.
	{"Internet Archive", "archive_org_bot archive-org-bot archivebot ArchiveTeam ArchiveBot Wayback_Save_Page special_archiver Archive-It"},
	{"Heritrix", "heritrix"},
	{"Library of Congress", "LibraryOfCongress"},
	{"British Library", "bl_uk_lddc_bot bl-uk-lddc-bot"},
	{"Bibliothèque nationale de France", "bnf_fr_bot bnf-fr-bot"},
	{"Webrecorder", "Browsertrix browsertrix-crawler Webrecorder ArchiveWeb-page"},
	{"Arquivo.pt", "Arquivo-web-crawler arquivo"},
	{"Nutch", "Nutch Nutch-Test Apache-Nutch"},
	{"HTTrack", "HTTrack WebCopier"},
	{"Zeno", "Zeno"},

	// Search engine optimisation and site analysis.
	{"Ahrefs", "AhrefsBot AhrefsSiteAudit"},
	{"Semrush", "SemrushBot SemrushBot-SA SemrushBot-BA SemrushBot-SI SemrushBot-SWA SemrushBot-OCOB SemrushBot-FT SemrushBot-COUB SemrushBot-BM SiteAuditBot SplitSignalBot"},
	{"Majestic", "MajesticBot MajesticSEO"},
	{"Moz", "rogerbot dotbot Moz-Dotbot"},
	{"Screaming Frog", "Screaming Screaming-Frog-SEO-Spider ScreamingFrogSEOSpider"},
	{"Botify", "botify BotifyBot"},
	{"OnCrawl", "OnCrawl"},
	{"DataForSEO", "DataForSeoBot"},
	{"Seokicks", "SEOkicks SEOkicks-Robot"},
	{"Sistrix", "sistrix SISTRIX-Crawler sistrixbot"},
	{"BLEXBot", "BLEXBot"},
	{"Barkrowler", "Barkrowler"},
	{"Seobility", "SeobilityBot"},
	{"Serpstat", "serpstatbot"},
	{"LinkpadBot", "LinkpadBot"},
	{"MegaIndex", "MegaIndex MegaIndex-ru"},
	{"Lumar", "deepcrawl Lumar"},
	{"Sitebulb", "Sitebulb"},
	{"Siteimprove", "Siteimprove SiteimproveBot-Crawler"},
	{"SimilarWeb", "SimilarWeb similartech"},
	{"BuiltWith", "BuiltWith"},
	{"Wappalyzer", "Wappalyzer"},
	{"Netcraft", "NetcraftSurveyAgent Netcraft"},
	{"Censys", "CensysInspect"},
	{"Shodan", "Shodan"},
	{"Palo Alto Networks", "Expanse"},
	{"SpyFu", "SpyFu"},
	{"DomainTools", "SurveyBot DomainTools"},
	{"TurnItIn", "TurnitinBot Turnitin"},
	{"Copyscape", "Copyscape"},
	{"Lighthouse", "Chrome-Lighthouse Lighthouse"},
	{"GTmetrix", "GTmetrix"},
	{"Pingdom", "Pingdom PingdomBot"},
	{"UptimeRobot", "UptimeRobot"},
	{"W3C", "Jigsaw"},
	{"Neevabot", "Neevabot"},
	{"Scoop.it", "Scoop-it"},
	{"ZoomInfo", "ZoominfoBot"},
	{"AwarioBot", "AwarioBot AwarioRssBot AwarioSmartBot"},
	{"Brandwatch", "magpie-crawler"},
	{"Meltwater", "Meltwater MeltwaterNews"},
	{"Cision", "TrendictionBot trendiction"},
	{"Grapeshot", "grapeshot GrapeshotCrawler"},
	{"Criteo", "CriteoBot"},
	{"The Trade Desk", "TTD-Content"},
	{"Proximic", "proximic"},
	{"Integral Ad Science", "IAS-crawler"},
	{"Cloudflare", "Cloudflare-AlwaysOnline CloudFlare-Prefetch Cloudflare-AutoRAG"},

	// Social networks, messengers and readers.
	{"X", "Twitterbot"},
	{"LinkedIn", "LinkedInBot"},
	{"Pinterest", "Pinterest Pinterestbot"},
	{"Reddit", "redditbot"},
	{"Slack", "Slackbot Slackbot-LinkExpanding Slack-ImgProxy"},
	{"Discord", "Discordbot"},
	{"Telegram", "TelegramBot"},
	{"WhatsApp", "WhatsApp"},
	{"Skype", "SkypeUriPreview"},
	{"Snap", "Snapchat SnapchatAds SnapBot"},
	{"Tumblr", "Tumblr"},
	{"VK", "vkShare"},
	{"Flipboard", "FlipboardProxy FlipboardRSS FlipboardBrowserProxy"},
	{"Feedly", "Feedly FeedlyBot FeedlyApp"},
	{"Inoreader", "inoreader"},
	{"NewsBlur", "NewsBlur"},
	{"Embedly", "Embedly"},
	{"Iframely", "Iframely"},
	{"Bluesky", "Bluesky Bluesky-Cardyb"},
	{"Mastodon", "Mastodon"},

	// Browsers, and the names that every browser sends.
	{"a browser", "Mozilla Gecko AppleWebKit KHTML Chrome Chromium HeadlessChrome Safari Firefox Edge Edg EdgA EdgiOS Opera OPR MSIE Trident Vivaldi SamsungBrowser UCBrowser CriOS FxiOS Lynx Links ELinks NetSurf Konqueror SeaMonkey PaleMoon Netscape Dillo Epiphany PhantomJS Puppeteer Playwright Selenium"},

	// HTTP libraries and programs.
	{"an HTTP library or program", "curl libcurl PycURL Wget wget python python-requests Python-urllib python-httpx httpx aiohttp urllib requests Scrapy scrapy-redis Go-http-client Go fasthttp colly gocolly gocrawl fetchbot okhttp Java Apache-HttpClient HttpClient Jakarta Jersey libwww libwww-perl lwp-trivial LWP lwp-request WWW-Mechanize Mechanize axios node-fetch node undici got superagent PHP Guzzle GuzzleHttp GuzzleHttpClient HTTPie PostmanRuntime Insomnia Ruby Faraday Typhoeus HTTParty Rust reqwest hyper ureq Dalvik CFNetwork WinHttp WinHTTP Microsoft-CryptoAPI PowerShell WindowsPowerShell Wininet Deno Bun aria lftp axel Nokogiri Colly Katana Zgrab masscan zgrab nikto sqlmap Nmap Crawlee StormCrawler"},
}

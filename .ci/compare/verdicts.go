package main

import (
	"os"
	"path/filepath"
	"strings"
)

// rulesOf has the robots.txt of each host, for the crawler examplebot.
var rulesOf = map[string]string{
	"groups.test": "User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\nDisallow: /private/\nAllow: /private/open\n" +
		"Disallow: /*.pdf$\nDisallow: /a%3cd\n\nUser-agent: examplebot\nDisallow: /second\n",
	"several.test": "User-agent: otherbot\nUser-agent: examplebot\nDisallow:\n\nUser-agent: *\nDisallow: /\n",
	"longer.test":  "User-agent: examplebotimages\nDisallow: /\n\nUser-agent: *\nDisallow: /star\n",
	"both.test":    "User-agent: *\nDisallow: /page\nAllow: /page\n",
	"letters.test": "User-agent: *\nDisallow: /ä\n",
	"empty.test":   "",
}

// verdicts has what RFC 9309 says of each URL (sections 2.2.1 to 2.2.3).
var verdicts = []string{
	"allow http://groups.test/",
	"disallow http://groups.test/private/x",
	"allow http://groups.test/private/open",
	"disallow http://groups.test/doc.pdf",
	"allow http://groups.test/doc.pdf?page",
	"disallow http://groups.test/a%3Cd",
	"disallow http://groups.test/second/x",
	"allow http://several.test/x",
	"allow http://longer.test/x",
	"disallow http://longer.test/star",
	"allow http://both.test/page",
	"disallow http://letters.test/%C3%A4",
	"allow http://empty.test/x",
	"allow http://groups.test/robots.txt",
}

func wantVerdicts() []string { return verdicts }

// layOut writes the files of the task robotscheck.
func layOut(dir string) error {
	for host, body := range rulesOf {
		at := filepath.Join(dir, "sites", "http", host)
		if err := os.MkdirAll(at, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "robots.txt"), []byte(body), 0o666); err != nil {
			return err
		}
	}
	var urls strings.Builder
	for _, v := range verdicts {
		_, url, _ := strings.Cut(v, " ")
		urls.WriteString(url + "\n")
	}
	return os.WriteFile(filepath.Join(dir, "urls.txt"), []byte(urls.String()), 0o666)
}

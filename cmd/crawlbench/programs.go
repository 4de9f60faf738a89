package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// writeSeeds writes the seeds to a file in the task's directory.
func writeSeeds(t *task) (string, error) {
	path := filepath.Join(t.Dir, "seeds.txt")
	return path, os.WriteFile(path, []byte(strings.Join(t.Seeds, "\n")+"\n"), 0o644)
}

// crawlCommand leaves settings that the scenarios do not set to the command.
func crawlCommand(t *task) (*exec.Cmd, error) {
	seeds, err := writeSeeds(t)
	if err != nil {
		return nil, err
	}
	args := []string{
		"run", "--name", "benchbot", "--contact", "https://example.org/benchbot", "--dir", filepath.Dir(crawlLog(t.Dir)),
		"--allow-private", "--delay", t.Delay.String(), "--concurrency", strconv.Itoa(t.Concurrency),
	}
	if t.Limit > 0 {
		args = append(args, "--limit", strconv.Itoa(t.Limit))
	}
	if t.Shown {
		args = append(args, "--requisites", "page")
	}
	if t.Anywhere {
		args = append(args, "--scope", "any", "--connect-to", fmt.Sprintf("::%s:%d", hostAddr(0), t.Port))
	}
	cmd := exec.Command(t.Program, append(args, seeds)...)
	if t.Cert != "" {
		ca := filepath.Join(t.Dir, "ca.pem")
		if err := os.WriteFile(ca, []byte(t.Cert), 0o644); err != nil {
			return nil, err
		}
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+ca)
	}
	return cmd, nil
}

func wget2Command(t *task) (*exec.Cmd, error) {
	seeds, err := writeSeeds(t)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--recursive", "--level=0", "--quiet", "--delete-after", "--robots=on", "--tries=3",
		fmt.Sprintf("--max-threads=%d", t.Concurrency), "--directory-prefix=" + t.Dir, "--input-file=" + seeds,
		"--user-agent=benchbot",
	}
	if t.Shown {
		args = append(args, "--page-requisites")
	}
	if t.Delay > 0 {
		args = append(args, fmt.Sprintf("--wait=%dms", t.Delay.Milliseconds()))
	}
	if t.Cert != "" {
		ca := filepath.Join(t.Dir, "ca.pem")
		if err := os.WriteFile(ca, []byte(t.Cert), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "--ca-certificate="+ca)
	}
	return exec.Command(t.Program, args...), nil
}

const spider = `import os
import scrapy
from urllib.parse import urlsplit

class Bench(scrapy.Spider):
    name = "bench"

    def start_requests(self):
        with open(os.environ["SEEDS"]) as f:
            self.seeds = f.read().split()
        self.hosts = {urlsplit(s).netloc for s in self.seeds}
        for s in self.seeds:
            yield scrapy.Request(s)

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if urlsplit(url).netloc in self.hosts:
                yield scrapy.Request(url)
`

func scrapyCommand(t *task) (*exec.Cmd, error) {
	seeds, err := writeSeeds(t)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(t.Dir, "spider.py")
	if err := os.WriteFile(path, []byte(spider), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(t.Program, "runspider", path, "--nolog",
		"-s", "ROBOTSTXT_OBEY=1", "-s", "USER_AGENT=benchbot", "-s", "COOKIES_ENABLED=0",
		"-s", fmt.Sprintf("CONCURRENT_REQUESTS=%d", t.Concurrency),
		"-s", fmt.Sprintf("CONCURRENT_REQUESTS_PER_DOMAIN=%d", perHost(t)),
		"-s", fmt.Sprintf("DOWNLOAD_DELAY=%g", t.Delay.Seconds()), "-s", "RANDOMIZE_DOWNLOAD_DELAY=0",
	)
	cmd.Env = append(os.Environ(), "SEEDS="+seeds)
	return cmd, nil
}

// perHost returns Scrapy's default, or 1 if there is a pause.
func perHost(t *task) int {
	if t.Delay > 0 {
		return 1
	}
	return 8
}

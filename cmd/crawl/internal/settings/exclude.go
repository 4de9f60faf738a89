package settings

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/frontier"
)

// excludeFrom reads a file that names URLs which the crawl must not request, and adds them to
// the URLs that are already excluded. Each line is a URL, which excludes all URLs that begin
// with it, or a regular expression. A # begins a comment.
func excludeFrom(name string, already *regexp.Regexp) (*regexp.Regexp, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, exit.Usagef("--exclude-from: %v", err)
	}
	var all, problems []string
	if already != nil {
		all = append(all, "(?:"+already.String()+")")
	}
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(raw, []byte("\ufeff"))) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		expr, err := place(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: %v", name, n, err))
			continue
		}
		all = append(all, expr)
	}
	if len(problems) > 0 {
		return nil, exit.Usagef("--exclude-from: %s", strings.Join(problems, "; "))
	}
	if len(all) == 0 {
		return nil, nil
	}
	r, err := regexp.Compile(strings.Join(all, "|"))
	if err != nil {
		return nil, exit.Usagef("--exclude-from: %s: all lines together: %v", name, err)
	}
	return r, nil
}

// place returns the regular expression for a line of the file.
func place(line string) (string, error) {
	for _, scheme := range []string{"http://", "https://", "ftp://"} {
		if len(line) < len(scheme) || !strings.EqualFold(line[:len(scheme)], scheme) {
			continue
		}
		u, err := frontier.ParseURL(line)
		if err != nil {
			return "", err
		}
		return "^" + regexp.QuoteMeta(u.String()), nil
	}
	if _, err := regexp.Compile(line); err != nil {
		return "", fmt.Errorf("neither a URL nor a regular expression: %w", err)
	}
	return "(?:" + line + ")", nil
}

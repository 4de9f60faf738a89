package robots

// kind is the kind of a line of robots.txt, which the key before the colon determines.
type kind uint8

const (
	unknownLine kind = iota
	blankLine        // a blank line that ends a record; only in dialect Koster1996
	agentLine
	allowLine
	disallowLine
	sitemapLine
	delayLine
	rateLine
	visitLine
	hostLine
	cleanParamLine
	noindexLine
	usageLine
	signalLine
	licenseLine
)

// isAgentTypo reports whether key is a misspelling of User-agent that counts as User-agent. The
// lists of misspellings here and in isDisallowTypo combine those of google/robotstxt and
// crawler-commons. There is no list for Allow, because an unclear line must never permit more.
func isAgentTypo(key string) bool {
	return hasPrefixFold(key, "user-agent") || hasPrefixFold(key, "useragent") ||
		hasPrefixFold(key, "user agent") || hasPrefixFold(key, "user_agent") ||
		equalFold(key, "user-agnet") || equalFold(key, "useg-agent") ||
		equalFold(key, "users-agent") || equalFold(key, "ser-agent")
}

func isDisallowTypo(key string) bool {
	if len(key) < 7 || lower(key[0]) != 'd' {
		return false
	}
	if googleDisallow(key) {
		return true
	}
	for _, typo := range [...]string{"desallow", "dssalow", "dsallow", "diallow", "disllow", "dis-allow", "disalllow", "disallo"} {
		if equalFold(key, typo) {
			return true
		}
	}
	return false
}

// googleDisallow reports whether google/robotstxt reads key as Disallow. That library compares
// only the beginning of the key, and accepts five misspellings.
func googleDisallow(key string) bool {
	return hasPrefixFold(key, "disallow") || hasPrefixFold(key, "dissallow") ||
		hasPrefixFold(key, "dissalow") || hasPrefixFold(key, "disalow") ||
		hasPrefixFold(key, "diasllow") || hasPrefixFold(key, "disallaw")
}

// keyKind returns the kind of a line that has the given key, in dialect d. key must have no white
// space at its ends. exact is false if key is an accepted misspelling.
func keyKind(key string, d Dialect) (k kind, exact bool) {
	switch key { // compare the usual spellings first, because ignoring the case of letters takes longer
	case "":
		return unknownLine, false
	case "User-agent", "User-Agent", "user-agent":
		return agentLine, true
	case "Disallow", "disallow":
		return disallowLine, true
	case "Allow", "allow":
		return allowLine, true
	}
	switch {
	case equalFold(key, "user-agent"):
		return agentLine, true
	case equalFold(key, "disallow"):
		return disallowLine, true
	case equalFold(key, "allow"):
		return allowLine, true
	}
	switch d {
	case RFC9309:
		if isDisallowTypo(key) {
			return disallowLine, false
		}
		if isAgentTypo(key) {
			return agentLine, false
		}
	case Google:
		if hasPrefixFold(key, "allow") {
			return allowLine, false
		}
		if googleDisallow(key) {
			return disallowLine, false
		}
		if hasPrefixFold(key, "user-agent") || hasPrefixFold(key, "useragent") || hasPrefixFold(key, "user agent") {
			return agentLine, false
		}
	}
	return otherKey(key)
}

// otherKey returns the kind of a key that RFC 9309 does not define but permits (2.2.4), such as
// Crawl-delay.
func otherKey(key string) (k kind, exact bool) {
	switch lower(key[0]) {
	case 's':
		if hasPrefixFold(key, "sitemap") || hasPrefixFold(key, "site-map") {
			return sitemapLine, len(key) == len("sitemap")
		}
	case 'c':
		switch {
		case equalFold(key, "crawl-delay"):
			return delayLine, true
		case equalFold(key, "crawldelay"), equalFold(key, "crawl delay"), equalFold(key, "crawl_delay"):
			return delayLine, false
		case equalFold(key, "clean-param"):
			return cleanParamLine, true
		case equalFold(key, "content-usage"):
			return usageLine, true
		case equalFold(key, "content-signal"):
			return signalLine, true
		case equalFold(key, "content-signals"):
			return signalLine, false
		}
	case 'r':
		switch {
		case equalFold(key, "request-rate"):
			return rateLine, true
		case equalFold(key, "requestrate"), equalFold(key, "request rate"):
			return rateLine, false
		}
	case 'v':
		switch {
		case equalFold(key, "visit-time"):
			return visitLine, true
		case equalFold(key, "visittime"), equalFold(key, "visit time"):
			return visitLine, false
		}
	case 'h':
		if equalFold(key, "host") {
			return hostLine, true
		}
	case 'n':
		if equalFold(key, "noindex") {
			return noindexLine, true
		}
	case 'l':
		if equalFold(key, "license") {
			return licenseLine, true
		}
	}
	return unknownLine, false
}

package main

import "strings"

// A bulkSource is where the owner of a large site offers the data that a crawl would
// collect page by page.
type bulkSource struct {
	domain string // and all hosts below it
	where  string
}

var bulkSources = []bulkSource{
	{"wikipedia.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"wiktionary.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"wikimedia.org", "dumps at https://dumps.wikimedia.org/"},
	{"wikidata.org", "dumps at https://dumps.wikimedia.org/wikidatawiki/entities/"},
	{"wikisource.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"arxiv.org", "all papers and their metadata, see https://info.arxiv.org/help/bulk_data.html"},
	{"openstreetmap.org", "the whole map at https://planet.openstreetmap.org/"},
	{"stackoverflow.com", "data dumps, see https://archive.org/details/stackexchange"},
	{"stackexchange.com", "data dumps, see https://archive.org/details/stackexchange"},
	{"gutenberg.org", "mirrors and feeds, see https://www.gutenberg.org/policy/robot_access.html"},
	{"ncbi.nlm.nih.gov", "files at https://ftp.ncbi.nlm.nih.gov/ and the E-utilities, see https://www.ncbi.nlm.nih.gov/home/develop/"},
	{"europepmc.org", "bulk downloads, see https://europepmc.org/downloads"},
	{"openalex.org", "a snapshot of everything, see https://docs.openalex.org/"},
	{"openlibrary.org", "dumps, see https://openlibrary.org/developers/dumps"},
	{"musicbrainz.org", "dumps, see https://musicbrainz.org/doc/MusicBrainz_Database/Download"},
	{"discogs.com", "monthly dumps at https://data.discogs.com/"},
	{"imdb.com", "data sets, see https://developer.imdb.com/non-commercial-datasets/"},
	{"dblp.org", "all records as XML and RDF, see https://dblp.org/xml/"},
	{"github.com", "the REST and GraphQL API, and https://www.gharchive.org/"},
	{"news.ycombinator.com", "its API, see https://github.com/HackerNews/API"},
	{"archive.org", "its API and bulk downloads, see https://archive.org/developers/"},
	{"commoncrawl.org", "its files, see https://commoncrawl.org/get-started"},
}

// better returns where else to get the content of a host, or "" if that is not known.
func better(host string) string {
	for _, door := range bulkSources {
		if host == door.domain || strings.HasSuffix(host, "."+door.domain) {
			return door.where
		}
	}
	return ""
}

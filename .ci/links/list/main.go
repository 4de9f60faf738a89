// List reads names of HTML files, one a line, and prints what is found in each:
// a JSON object a line with the file, its encoding, its title and its links.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

type found struct {
	File    string      `json:"file"`
	Charset string      `json:"charset"`
	Title   string      `json:"title"`
	Cut     bool        `json:"cut"`   // there are more links
	Links   [][4]string `json:"links"` // element and attribute, URL, hop, text
}

func main() {
	if err := list(); err != nil {
		fmt.Fprintln(os.Stderr, "list:", err)
		os.Exit(1)
	}
}

func list() error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		body, err := os.ReadFile(names.Text())
		if err != nil {
			return err
		}
		u, err := frontier.ParseURL("http://docs.test" + names.Text())
		if err != nil {
			return err
		}
		text, charset := extract.Decode(body, "text/html")
		d := extract.HTML(text, u, "text/html", extract.Options{Embeds: true, Forms: true, Text: true})
		f := found{File: names.Text(), Charset: charset, Title: d.Title, Cut: d.Cut}
		for _, l := range d.Links {
			f.Links = append(f.Links, [4]string{l.Where, l.URL.String(), string(l.Hop), l.Text()})
		}
		if err := json.NewEncoder(out).Encode(f); err != nil {
			return err
		}
	}
	return names.Err()
}

// Package botpage makes and reads the files by which site owners know a crawler: a page about
// it, the list of its addresses, and the directory of its public keys.
package botpage

import (
	"bytes"
	"crypto/ed25519"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/url"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/identity"
)

// Paths of the files of a Page, with slashes.
const (
	pageFile   = "index.html"
	ipsFile    = "ips.json"
	readmeFile = "README.txt"
)

var keysFile = strings.TrimPrefix(identity.DirectoryPath, "/")

// Paths returns the paths of all files that a Page can have.
func Paths() []string { return []string{pageFile, ipsFile, keysFile, readmeFile} }

//go:embed page.html
var pageText string

//go:embed readme.txt
var readmeText string

var (
	pageTemplate   = template.Must(template.New(pageFile).Parse(pageText))
	readmeTemplate = texttemplate.Must(texttemplate.New(readmeFile).Parse(readmeText))
)

// A Page is what a page says about a crawler.
type Page struct {
	Identity crawler.Identity // its Contact is the https URL of the page
	Operator string           // the person or institution that runs the crawler; may be empty
	Why      string           // what the crawler is for
	Use      string           // how the data are used
	OptOut   string           // an e-mail address or URL for questions and objections
	IPs      []string         // ranges, as ParseRange returns them
	Keys     []ed25519.PublicKey
	Written  time.Time
}

// A File is a file to upload, with its path below the directory, and the URL that it must have.
type File struct {
	Path, URL string
	Text      []byte
}

// Files returns the files of p. The last one says how to upload the others.
func (p *Page) Files() ([]File, error) {
	at, err := url.Parse(p.Identity.Contact)
	if err != nil {
		return nil, err
	}
	v := view{Page: p, UserAgent: p.Identity.UserAgent(), From: p.Identity.From(), Type: identity.DirectoryType, Location: identity.DirectoryPath}
	for _, key := range p.Keys {
		v.Thumbprints = append(v.Thumbprints, identity.Thumbprint(key))
	}
	if v.OptOutLink = p.OptOut; !strings.Contains(p.OptOut, "://") {
		v.OptOutLink = "mailto:" + p.OptOut
	}
	if len(p.Keys) > 0 {
		v.DirectoryURL = at.ResolveReference(&url.URL{Path: identity.DirectoryPath}).String()
	}
	if len(p.IPs) > 0 {
		v.IPsURL = at.ResolveReference(&url.URL{Path: ipsFile}).String()
	}
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, v); err != nil {
		return nil, err
	}
	files := []File{{pageFile, p.Identity.Contact, page.Bytes()}}
	if len(p.IPs) > 0 {
		text, err := asJSON(listOf(p.IPs, p.Written))
		if err != nil {
			return nil, err
		}
		files = append(files, File{ipsFile, v.IPsURL, text})
	}
	if len(p.Keys) > 0 {
		var d identity.Directory
		for _, key := range p.Keys {
			d.Keys = append(d.Keys, identity.PublicKey(key))
		}
		text, err := asJSON(d)
		if err != nil {
			return nil, err
		}
		files = append(files, File{keysFile, v.DirectoryURL, text})
	}
	v.Files = files
	var readme bytes.Buffer
	if err := readmeTemplate.Execute(&readme, v); err != nil {
		return nil, err
	}
	return append(files, File{Path: readmeFile, Text: readme.Bytes()}), nil
}

// A view is a Page with what the templates need besides.
type view struct {
	*Page
	UserAgent, From, OptOutLink string
	IPsURL, DirectoryURL        string // empty if there is no such file
	Location, Type              string // path and media type of the directory of keys
	Thumbprints                 []string
	Files                       []File
}

func asJSON(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

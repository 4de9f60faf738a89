package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/identity"
)

const needIdentity = `who crawls? Site owners must be able to name this crawler in robots.txt and to
reach you. Add a name of your own choice and a contact:
  --name mybot --contact https://example.org/about-my-crawl   (or an e-mail address)
or set $CRAWL_NAME and $CRAWL_CONTACT`

// A known is an identity, and where its values come from: a flag, a variable of the environment,
// or the path of the identity file. A source is empty if there is no value.
type known struct {
	crawler.Identity
	tokenFrom, contactFrom string
}

// fill sets the values that id lacks, if from has them.
func (id *known) fill(from crawler.Identity, name, contact string) {
	if id.Token == "" && from.Token != "" {
		id.Token, id.tokenFrom = from.Token, name
	}
	if id.Contact == "" && from.Contact != "" {
		id.Contact, id.Mail, id.contactFrom = from.Contact, from.Mail, contact
	}
}

// givenIdentity returns the identity that the flags and the environment give. Values that
// neither has are empty.
func givenIdentity(name string, contact []string) (id known, err error) {
	flags, env := crawler.Identity{Token: name}, crawler.Identity{Token: os.Getenv("CRAWL_NAME")}
	if err := addContacts(&flags, contact); err != nil {
		return id, err
	}
	if err := addContacts(&env, strings.Fields(os.Getenv("CRAWL_CONTACT"))); err != nil {
		return id, err
	}
	id.fill(flags, "--name", "--contact")
	id.fill(env, "$CRAWL_NAME", "$CRAWL_CONTACT")
	return id, nil
}

// knownIdentity returns the identity of the crawler: from the flags, from the environment, or
// from the identity file. Values that none of these has are empty.
func knownIdentity(name string, contact []string) (known, error) {
	id, err := givenIdentity(name, contact)
	if err != nil || id.Token != "" && id.Contact != "" {
		return id, err
	}
	path := identityFile()
	kept, err := readIdentity(path)
	id.fill(kept, path, path)
	return id, err
}

// identity returns the identity of the crawler. If it is not known, and the program runs on a
// terminal, identity asks the user once.
func (p *program) identity(name string, contact []string) (crawler.Identity, error) {
	id, err := knownIdentity(name, contact)
	if err != nil {
		return id.Identity, err
	}
	if id.Token == "" || id.Contact == "" {
		if err := p.askIdentity(&id.Identity, identityFile()); err != nil {
			return id.Identity, err
		}
	}
	return id.Identity, checkIdentity(id.Identity)
}

// checkIdentity returns the error of the command for an identity that is not valid.
func checkIdentity(id crawler.Identity) error {
	var option *crawler.OptionError
	if err := id.Check(); errors.As(err, &option) {
		flag := "--name"
		if option.Field != "Identity.Token" {
			flag = "--contact"
		}
		return exit.Usagef("%s: %s", flag, option.Reason)
	}
	return nil
}

// signing returns how requests are signed, by the values of --sign-requests and
// --signature-agent.
func signing(file, agent string) (s fetch.Signing, err error) {
	switch {
	case file == "" && agent == "":
		return s, nil
	case agent == "":
		return s, exit.Usagef("--sign-requests needs --signature-agent: the https URL of the site that has the public key, such as https://example.org")
	case file == "":
		return s, exit.Usagef("--signature-agent needs --sign-requests: the file of the private key (crawl identity keygen FILE makes one)")
	}
	if _, err := identity.CheckAgent(agent); err != nil {
		return s, exit.Usagef("--signature-agent: %w", err)
	}
	s.Agent = agent
	s.Key, err = privateKey("--sign-requests", file)
	return s, err
}

// addContacts adds one contact, or a URL and an e-mail address in any order.
func addContacts(id *crawler.Identity, contacts []string) error {
	switch len(contacts) {
	case 0:
	case 1:
		id.Contact = contacts[0]
	case 2:
		id.Contact, id.Mail = contacts[0], contacts[1]
		if strings.Contains(id.Mail, "://") {
			id.Contact, id.Mail = id.Mail, id.Contact
		}
	default:
		return exit.Usagef("--contact: give one, or two: a URL and an e-mail address")
	}
	return nil
}

// interactive reports whether the program can ask the user.
func (p *program) interactive() bool { return terminal.Is(p.in) && terminal.Is(p.err) }

// confirmed reads the answer to a question, and returns an error unless it is yes.
func (p *program) confirmed() error {
	line, _ := bufio.NewReader(p.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return exit.With(exit.Later, errors.New("nothing was changed"))
	}
	return nil
}

// identityFile returns the path of the file with the token and the contact that the user was
// asked for in an earlier run, or "" if there is no directory for it.
func identityFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "permesso", "identity.json")
}

type identityRecord struct {
	Name    string `json:"name"`
	Contact string `json:"contact"`
	Mail    string `json:"mail,omitempty"`
}

func readIdentity(path string) (crawler.Identity, error) {
	if path == "" {
		return crawler.Identity{}, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return crawler.Identity{}, nil
	}
	var r identityRecord
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return crawler.Identity{}, exit.Usagef("%s: %v: correct or remove it, or use --name and --contact", path, err)
	}
	return crawler.Identity{Token: r.Name, Contact: r.Contact, Mail: r.Mail}, nil
}

// askIdentity asks the user until the answers are valid, and saves them. It fails if there is no
// terminal.
func (p *program) askIdentity(id *crawler.Identity, path string) error {
	if !p.interactive() {
		return exit.Usagef(needIdentity)
	}
	p.note("Site owners must be able to name this crawler in robots.txt and to reach you.")
	in := bufio.NewReader(p.in)
	ask := func(question string, to *string) error {
		fmt.Fprint(p.err, question)
		line, err := in.ReadString('\n')
		if err != nil {
			return exit.Usagef(needIdentity)
		}
		*to = strings.TrimSpace(line)
		return nil
	}
	for {
		if id.Token == "" {
			if err := ask("Name of the crawler (letters, - and _): ", &id.Token); err != nil {
				return err
			}
		}
		if id.Contact == "" {
			if err := ask("Contact (a web page or an e-mail address): ", &id.Contact); err != nil {
				return err
			}
		}
		var option *crawler.OptionError
		if err := id.Check(); !errors.As(err, &option) {
			break
		}
		p.note("%s", option.Reason)
		if option.Field == "Identity.Token" {
			id.Token = ""
		} else { // with two contacts, either of them may be wrong
			id.Contact, id.Mail = "", ""
		}
	}
	return p.keepIdentity(*id, path)
}

// keepIdentity writes the identity file. If path is empty, because there is no directory for
// the file, it does nothing.
func (p *program) keepIdentity(id crawler.Identity, path string) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(identityRecord{id.Token, id.Contact, id.Mail}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	p.note("Kept in %s.", path)
	return nil
}

package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *program) identityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "identity",
		Short: "keep, show and publish who the crawler is",
		Long: `identity keeps the name and the contact that requests have, makes the files by which
site owners know the crawler (a page about it, the list of its addresses, the directory of
its public keys), and checks them after they are uploaded. Docs: docs/guide/identity.md.`,
		Example: `  crawl identity init --name mybot --contact https://example.org/mybot
  crawl identity show`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.identityInitCommand(), p.identityShowCommand(), p.identityKeygenCommand(), p.identityPublishCommand(), p.identityVerifyCommand())
	return cmd
}

// whoFlags are the flags that name the crawler.
type whoFlags struct {
	name    string
	contact []string
}

func (f *whoFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.name, "name", "", "name (product `token`) of this crawler in robots.txt (or $CRAWL_NAME)")
	fs.StringArrayVar(&f.contact, "contact", nil, "`URL` or e-mail address where site owners reach you; may be given twice, for both (or $CRAWL_CONTACT)")
}

func (p *program) identityInitCommand() *cobra.Command {
	var who whoFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "init [flags]",
		Short: "write the identity file",
		Long: `init writes the name and the contact of the crawler into the identity file, which all
commands read if neither flags nor variables name them: permesso/identity.json in the
directory of the configuration. On a terminal it prompts for missing values.`,
		Example: `  crawl identity init --name mybot --contact https://example.org/mybot`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := identityFile()
			if path == "" {
				return exit.Usagef("there is no directory for the identity file: set $HOME or $XDG_CONFIG_HOME")
			}
			if _, err := os.Lstat(path); err == nil && !force {
				return exit.Usagef("%s exists: crawl identity show prints what it says, --force writes over it", path)
			}
			id, err := givenIdentity(who.name, who.contact)
			if err != nil {
				return err
			}
			if id.Token == "" || id.Contact == "" {
				return p.askIdentity(&id.Identity, path)
			}
			if err := checkIdentity(id.Identity); err != nil {
				return err
			}
			return p.keepIdentity(id.Identity, path)
		},
	}
	who.register(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "write over an identity file that exists")
	return cmd
}

// An identityOutput is what crawl identity show --json prints.
type identityOutput struct {
	Name          string `json:"name"`
	NameSource    string `json:"name_source"`
	Contact       string `json:"contact"`
	Mail          string `json:"mail,omitempty"`
	ContactSource string `json:"contact_source"`
	UserAgent     string `json:"user_agent"`
	From          string `json:"from_header,omitempty"`
	File          string `json:"identity_file"`
}

func (p *program) identityShowCommand() *cobra.Command {
	var who whoFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [flags]",
		Short: "print who the crawler is, and where each value comes from",
		Long: `show prints the name and the contact that the next crawl has, the header fields that
are made from them, and where each comes from: a flag, a variable, or the identity file.`,
		Example: `  crawl identity show
  crawl identity show --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := knownIdentity(who.name, who.contact)
			if err != nil {
				return err
			}
			if id.Token == "" || id.Contact == "" {
				return exit.Usagef(needIdentity + ",\nor write them into the identity file: crawl identity init")
			}
			if err := checkIdentity(id.Identity); err != nil {
				return err
			}
			o := identityOutput{id.Token, id.tokenFrom, id.Contact, id.Mail, id.contactFrom, id.UserAgent(), id.From(), identityFile()}
			if asJSON {
				return p.object(o)
			}
			return p.tellIdentity(o)
		},
	}
	who.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func (p *program) tellIdentity(o identityOutput) error {
	w := p.lines()
	w.Told("name", "%s (from %s)", o.Name, o.NameSource)
	w.Told("contact", "%s (from %s)", o.Contact, o.ContactSource)
	if o.Mail != "" {
		w.Told("mail", "%s (from %s)", o.Mail, o.ContactSource)
	}
	w.Told("User-Agent", "%s", o.UserAgent)
	if o.From != "" {
		w.Told("From", "%s", o.From)
	}
	return w.Err
}

func (p *program) identityKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "write a new private key to sign requests with",
		Long: `keygen writes a new private key of Ed25519, in PEM (PKCS #8), that only you can read,
and prints its thumbprint, by which servers find the public key. It never writes over a
file. Keep a copy. Anyone with the key can sign as this crawler.`,
		Example: `  crawl identity keygen mybot.pem`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl identity keygen takes one argument, the file to write")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := writeKey(args[0])
			if err != nil {
				return err
			}
			w := p.lines()
			w.Told("key", "%s", args[0])
			w.Told("thumbprint", "%s", identity.Thumbprint(public))
			w.Told("next", "crawl identity publish --key %s ..., then crawl run --sign-requests %s --signature-agent https://YOUR-SITE ...", args[0], args[0])
			return w.Err
		},
	}
}

// writeKey writes a new private key into a new file.
func writeKey(path string) (ed25519.PublicKey, error) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, exit.Usagef("%s exists, and a key is never written over: give another name", path)
	case err != nil:
		return nil, exit.Usagef("%w", err)
	}
	_, err = file.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return public, nil
}

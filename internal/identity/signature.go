package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// lifetime is how long a signature is valid. A signature is made just before its request is
// sent. So its lifetime only has to cover the way to the server, and the difference between the
// clocks.
const lifetime = time.Minute

// label is the name of the signature in the fields Signature-Input and Signature. The field
// Signature-Agent must use the same name (draft-ietf-webbotauth-httpsig-protocol-01, section
// "Signature-Agent").
const label = "sig1"

// A Signer signs requests, so that servers can check which crawler has sent them (Web Bot Auth,
// draft-ietf-webbotauth-httpsig-protocol-01, with RFC 9421). It is safe for concurrent use.
type Signer struct {
	key          ed25519.PrivateKey
	keyid, agent string
}

// NewSigner returns a Signer for a key whose public half is in the key directory at the URL
// agent. See CheckAgent for what the URL may be.
func NewSigner(key ed25519.PrivateKey, agent string) (*Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("the key has %d bytes, a private key of Ed25519 has %d", len(key), ed25519.PrivateKeySize)
	}
	at, err := CheckAgent(agent)
	if err != nil {
		return nil, err
	}
	return &Signer{key, Thumbprint(key.Public().(ed25519.PublicKey)), at}, nil
}

// CheckAgent returns the URL of a key directory as the field Signature-Agent has it. A URL
// without a path, such as https://example.org, means the directory at DirectoryPath.
func CheckAgent(agent string) (string, error) {
	u, err := url.Parse(agent)
	switch {
	case agent == "":
		return "", fmt.Errorf("the URL of the key directory is missing: give the https URL of the site that has it")
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "":
		return "", fmt.Errorf("%q is no https URL of a key directory, such as https://example.org", agent)
	case strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return "", fmt.Errorf("%q has a character that a URL must escape", agent) // RFC 9651, section 4.1.6, allows no such character in a string
	case strings.TrimRight(u.Path, "/") == "" && u.RawQuery == "" && !u.ForceQuery:
		return "https://" + u.Host + DirectoryPath, nil
	}
	return agent, nil
}

// Sign sets the fields Signature-Agent, Signature-Input and Signature in the header of a
// request to authority: the host, with the port if that is not the default (RFC 9421, section
// 2.2.3). The signature is valid for a minute from now, and only for that authority. Each
// signature has a new nonce.
func (s *Signer) Sign(header http.Header, authority string, now time.Time) {
	nonce := make([]byte, 64)
	rand.Read(nonce) // rand.Read never fails
	s.sign(header, label, authority, now, now.Add(lifetime), base64.StdEncoding.EncodeToString(nonce))
}

// sign is like Sign, with all values that the test vectors set. The parameters have the order
// of the test vectors in the draft.
func (s *Signer) sign(header http.Header, label, authority string, created, expires time.Time, nonce string) {
	member := `"signature-agent";key="` + label + `"`
	params := `("@authority" ` + member + `);created=` + strconv.FormatInt(created.Unix(), 10) + `;keyid="` + s.keyid +
		`";alg="ed25519";expires=` + strconv.FormatInt(expires.Unix(), 10) + `;nonce="` + nonce + `";tag="web-bot-auth"`
	agent := `"` + s.agent + `"`
	base := `"@authority": ` + strings.ToLower(authority) + "\n" + member + ": " + agent + "\n" + `"@signature-params": ` + params
	signature := base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, []byte(base)))
	header.Set("Signature-Agent", label+"="+agent)
	header.Set("Signature-Input", label+"="+params)
	header.Set("Signature", label+"=:"+signature+":")
}

package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DirectoryPath is where a site has its key directory, and DirectoryType is the media type of
// the directory there (draft-ietf-webbotauth-httpsig-protocol-01, sections "Directory Format" and
// "IANA Considerations").
const (
	DirectoryPath = "/.well-known/http-message-signatures-directory"
	DirectoryType = "application/http-message-signatures-directory+json"
)

// A Directory is a key directory: a JSON Web Key Set (RFC 7517, section 5).
type Directory struct {
	Keys []Key `json:"keys"`
}

// A Key is a public key in a Directory (RFC 7517, RFC 8037).
type Key struct {
	Type      string  `json:"kty"`
	Curve     string  `json:"crv,omitempty"`
	ID        string  `json:"kid,omitempty"` // thumbprint of the key
	X         string  `json:"x,omitempty"`
	Use       string  `json:"use,omitempty"`
	NotBefore float64 `json:"nbf,omitempty"` // time from which the key is valid, in seconds since 1970; 0: no limit
	Expires   float64 `json:"exp,omitempty"` // time until which the key is valid, in seconds since 1970; 0: no limit
}

// PublicKey returns key in the form of a Directory.
func PublicKey(key ed25519.PublicKey) Key {
	return Key{Type: "OKP", Curve: "Ed25519", ID: Thumbprint(key), X: base64.RawURLEncoding.EncodeToString(key), Use: "sig"}
}

// Thumbprint returns the identifier of a key: the SHA-256 of its JSON form (RFC 7638; RFC 8037,
// appendix A.3), in base64url without padding.
func Thumbprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// ParseDirectory parses the JSON of a key directory.
func ParseDirectory(text []byte) (d Directory, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("it is no JSON Web Key Set: %w", err)
	}
	if d.Keys == nil {
		return d, errors.New(`it is no JSON Web Key Set: the list "keys" is missing`)
	}
	return d, nil
}

// Has returns an error if a server that has fetched d at the time now cannot check signatures
// by key.
func (d Directory) Has(key ed25519.PublicKey, now time.Time) error {
	want := PublicKey(key)
	for _, k := range d.Keys {
		switch at := float64(now.Unix()); {
		case k.Type != want.Type || k.Curve != want.Curve || k.X != want.X:
		case k.ID != "" && k.ID != want.ID:
			return fmt.Errorf("the key has the kid %q, and not its thumbprint %s", k.ID, want.ID)
		case k.Expires != 0 && at >= k.Expires:
			return fmt.Errorf("the key has expired (exp %.0f)", k.Expires)
		case at < k.NotBefore:
			return fmt.Errorf("the key is not valid yet (nbf %.0f)", k.NotBefore)
		default:
			return nil
		}
	}
	return fmt.Errorf("the key with the thumbprint %s is not in it", want.ID)
}

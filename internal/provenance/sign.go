package provenance

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// A KeyError says what is wrong with a key file, and how to correct it.
type KeyError struct {
	Path string
	Err  error
}

func (e *KeyError) Error() string { return fmt.Sprintf("the key %s: %v", e.Path, e.Err) }

func (e *KeyError) Unwrap() error { return e.Err }

// mostKey is the size in bytes of the largest key file.
const mostKey = 64 << 10

var (
	errNoKey   = errors.New("it is not a key in PEM: openssl genpkey -algorithm ed25519 -out FILE makes one")
	errNotOurs = errors.New("it is not of Ed25519: openssl genpkey -algorithm ed25519 -out FILE makes such a one")
	errPublic  = errors.New("it is a public key, by which nothing can be signed: name the file of the private one")
)

// ReadKey reads a private Ed25519 key from a PEM file, in the form PKCS #8 (RFC 5958, RFC
// 8410). The error is a *KeyError. On Unix, ReadKey also fails if other users can read or
// change the file.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	block, err := readPEM(path)
	if err != nil {
		return nil, &KeyError{path, err}
	}
	if block.Type == "PUBLIC KEY" {
		return nil, &KeyError{path, errPublic}
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, &KeyError{path, errNoKey}
	}
	own, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, &KeyError{path, errNotOurs}
	}
	if err := private(path); err != nil {
		return nil, &KeyError{path, err}
	}
	return own, nil
}

// private returns an error if other users can read or change the file. It accepts pipes, which
// have no mode of their own. On Windows it accepts all files, because the mode says nothing
// about other users.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.IsRegular() && mode&0o077 != 0 {
		return fmt.Errorf("other users have access to it (its mode is %04o): chmod 600 %s", mode.Perm(), path)
	}
	return nil
}

// ReadPublicKey reads a public Ed25519 key from a PEM file. The file has the public key in the
// form SubjectPublicKeyInfo (RFC 8410), or the private key of the pair. The error is a
// *KeyError.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	block, err := readPEM(path)
	if err != nil {
		return nil, &KeyError{path, err}
	}
	if block.Type != "PUBLIC KEY" {
		own, err := ReadKey(path)
		if err != nil {
			return nil, err
		}
		return own.Public().(ed25519.PublicKey), nil
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, &KeyError{path, errNoKey}
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, &KeyError{path, errNotOurs}
	}
	return public, nil
}

func readPEM(path string) (*pem.Block, error) {
	text, err := readBounded(path, mostKey)
	if errors.Is(err, errTooLong) {
		return nil, errNoKey
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errNoKey
	}
	return block, nil
}

package crawltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

// An authority signs the TLS certificates of the https sites of a Web. The certificates are valid
// from 1990 on, because the time in testing/synctest starts in the year 2000.
type authority struct {
	pool *x509.CertPool

	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	// mu guards leafs. Handshakes run concurrently, and all handshakes of a host use one
	// certificate.
	mu    sync.Mutex
	leafs map[string]*tls.Certificate
}

var (
	validFrom  = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	validUntil = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newAuthority() *authority {
	a := &authority{pool: x509.NewCertPool(), leafs: map[string]*tls.Certificate{}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "crawltest"},
		NotBefore: validFrom, NotAfter: validUntil, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return a
	}
	if a.cert, err = x509.ParseCertificate(der); err == nil {
		a.key = key
		a.pool.AddCert(a.cert)
	}
	return a
}

// config returns the TLS configuration of a server. The function http2 reports whether a host
// speaks HTTP/2.
func (a *authority) config(http2 func(host string) bool) *tls.Config {
	one := &tls.Config{
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return a.leaf(hello.ServerName) },
		NextProtos:     []string{"http/1.1"},
	}
	two := one.Clone()
	two.NextProtos = []string{"h2", "http/1.1"}
	one.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if http2(hello.ServerName) {
			return two, nil
		}
		return nil, nil
	}
	return one
}

func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leafs[host]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.leafs) + 2)), Subject: pkix.Name{CommonName: host},
		DNSNames: []string{host}, NotBefore: validFrom, NotAfter: validUntil,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.leafs[host] = c
	return c, nil
}

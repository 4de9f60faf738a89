package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"time"
)

// A webHello is the first line that the web command prints: where the web is.
type webHello struct {
	Port    int    // of every host
	Control string // URL that answers GET with WebCounts, and resets them on DELETE
	Cert    string `json:",omitempty"` // PEM of the certificate, with TLS
}

func webFlags(f *flag.FlagSet, p *WebParams) {
	f.IntVar(&p.Hosts, "hosts", 20, "`hosts`: number n is at 127.1.0.1 + n, and is h0000000n.test in a Host field")
	f.IntVar(&p.Pages, "pages", 500, "`pages` of each host: / and /p/00000001 and so on")
	f.IntVar(&p.Size, "size", 20<<10, "`bytes` of a page")
	f.IntVar(&p.Links, "links", 50, "`links` on each page, to its own host")
	f.IntVar(&p.Cross, "cross", 0, "`links` of a root to roots of other hosts, by name")
	f.BoolVar(&p.Tree, "tree", false, "no page is linked twice")
	f.DurationVar(&p.Latency, "latency", 0, "`time` before each answer")
	f.DurationVar(&p.Delay, "delay", 0, "`pause` that is asked of a crawler: earlier requests are counted")
	f.BoolVar(&p.Validators, "validators", false, "pages have an ETag, and answer 304 to requests with that ETag")
	f.BoolVar(&p.Faults, "faults", false, "some hosts are slow, some links dead, some bodies cut once")
}

// runWeb serves a web until ctx ends.
func runWeb(ctx context.Context, args []string, out io.Writer) error {
	var p WebParams
	f := flag.NewFlagSet("web", flag.ContinueOnError)
	webFlags(f, &p)
	listen := f.String("listen", "0.0.0.0:0", "`address` to listen at; all hosts answer at its port")
	control := f.String("control", "127.0.0.1:0", "`address` at which the counts are asked")
	secure := f.Bool("tls", false, "speak TLS, with a certificate made for the occasion")
	if err := f.Parse(args); err != nil {
		return err
	}
	hello := webHello{}
	if *secure {
		cert, pemText, err := newCertificate(p.Hosts)
		if err != nil {
			return err
		}
		p.TLS, hello.Cert = &tls.Config{Certificates: []tls.Certificate{cert}}, pemText
	}
	w, err := NewWeb(p)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	cl, err := net.Listen("tcp", *control)
	if err != nil {
		l.Close()
		return err
	}
	hello.Port, hello.Control = l.Addr().(*net.TCPAddr).Port, "http://"+cl.Addr().String()+"/"
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.Forget()
			return
		}
		json.NewEncoder(rw).Encode(w.Counts())
	})}
	served := make(chan error, 1)
	// This goroutine ends after the web.
	go func() { served <- server.Serve(cl) }()
	if err := json.NewEncoder(out).Encode(hello); err != nil {
		l.Close()
		return err
	}
	err = w.Serve(ctx, l)
	server.Close()
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

// newCertificate returns a certificate for the addresses of this number of hosts.
func newCertificate(hosts int) (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "crawlbench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for n := range min(hosts, 1000) {
		c.IPAddresses = append(c.IPAddresses, hostAddr(n).AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}

// seedURL returns the root of host n, at its address.
func seedURL(scheme string, n, port int) string {
	return fmt.Sprintf("%s://%s:%d/", scheme, hostAddr(n), port)
}

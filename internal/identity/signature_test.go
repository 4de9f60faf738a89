package identity

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"
)

// testKey is test-key-ed25519 of RFC 9421, appendix B.1.4.
const testKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----`

func keyOfTest(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	block, _ := pem.Decode([]byte(testKey))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(ed25519.PrivateKey)
}

// The test vectors in which the field Signature-Agent is a dictionary: one is in
// draft-ietf-webbotauth-httpsig-protocol-01 ("EdDSA Using Curve edwards25519"), the other in
// the file web_bot_auth_architecture_v2.json, to which the draft refers.
func TestTheTestVectorsOfTheDraft(t *testing.T) {
	t.Parallel()
	const nonce = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
	s := &Signer{keyOfTest(t), "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", "https://signature-agent.test"}
	for label, signature := range map[string]string{
		"sig2":   "CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==",
		"agent2": "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==",
	} {
		h := http.Header{}
		s.sign(h, label, "example.com", time.Unix(1735689600, 0), time.Unix(4889289600, 0), nonce)
		for name, want := range map[string]string{
			"Signature-Agent": label + `="https://signature-agent.test"`,
			"Signature-Input": label + `=("@authority" "signature-agent";key="` + label + `");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="` + nonce + `";tag="web-bot-auth"`,
			"Signature":       label + "=:" + signature + ":",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s\nwant %s", name, got, want)
			}
		}
	}
}

// Thumbprint returns the thumbprint in RFC 8037, appendix A.3, and the known thumbprint of
// test-key-ed25519.
func TestThumbprints(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
		"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs": "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
	} {
		key, err := base64.RawURLEncoding.DecodeString(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := Thumbprint(key); got != want || PublicKey(key).X != x {
			t.Errorf("%s: %s, want %s", x, got, want)
		}
	}
}

// Two signatures for the same authority have different nonces of 64 bytes. Each is valid for a
// minute.
func TestEachSignatureHasItsOwnNonce(t *testing.T) {
	t.Parallel()
	s, err := NewSigner(keyOfTest(t), "https://bot.example.org")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		h := http.Header{}
		s.Sign(h, "A.example", time.Unix(100, 5e8))
		input := h.Get("Signature-Input")
		_, rest, _ := strings.Cut(input, `nonce="`)
		nonce, _, _ := strings.Cut(rest, `"`)
		raw, err := base64.StdEncoding.DecodeString(nonce)
		if err != nil || len(raw) != 64 || seen[nonce] {
			t.Errorf("%q: %d bytes, %v, repeated %t", nonce, len(raw), err, seen[nonce])
		}
		seen[nonce] = true
		if !strings.Contains(input, "created=100;") || !strings.Contains(input, "expires=160;") {
			t.Error(input)
		}
		other := http.Header{}
		if s.sign(other, label, "a.example", time.Unix(100, 0), time.Unix(160, 0), nonce); other.Get("Signature") != h.Get("Signature") {
			t.Error("the authority is not signed in lower case")
		}
	}
}

func TestURLsOfKeyDirectories(t *testing.T) {
	t.Parallel()
	const usual = "https://example.org/.well-known/http-message-signatures-directory"
	for agent, want := range map[string]string{
		"https://example.org": usual, "https://example.org/": usual, usual: usual,
		"https://example.org:8443":  "https://example.org:8443/.well-known/http-message-signatures-directory",
		"https://example.org/~jwks": "https://example.org/~jwks", "https://example.org/?a": "https://example.org/?a",
		"": "", "example.org": "", "http://example.org": "", "https://": "", "https:example.org": "", "https://u:p@example.org": "", "https://example.org/#a": "",
		`https://example.org/"`: "", `https://example.org/\`: "", "https://example.org/ü": "", "https://example.org/a b": "", "mailto:a@example.org": "",
	} {
		if got, err := CheckAgent(agent); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", agent, got, err, want)
		}
	}
	if _, err := CheckAgent(""); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Error(err)
	}
	if _, err := NewSigner(keyOfTest(t)[:32], "https://example.org"); err == nil {
		t.Error("half a key is accepted")
	}
	if _, err := NewSigner(keyOfTest(t), "http://example.org"); err == nil {
		t.Error("a directory without TLS is accepted")
	}
}

func TestWhatAKeyDirectoryHas(t *testing.T) {
	t.Parallel()
	public := keyOfTest(t).Public().(ed25519.PublicKey)
	now := time.Unix(1000, 0)
	for text, want := range map[string]string{
		`{}`: `the list "keys" is missing`,
		`[`:  "no JSON Web Key Set", `{"keys":1}`: "no JSON Web Key Set",
		`{"keys":[]}`:        "is not in it",
		`{"keys":[{}, KEY]}`: "",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}`:            "",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","kid":"a"}]}`:  "not its thumbprint",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","exp":1000}]}`: "has expired",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","exp":1001}]}`: "",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","nbf":1001}]}`: "not valid yet",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","nbf":1000}]}`: "",
		`{"keys":[{"kty":"OKP","crv":"X25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","nbf":1000}]}`:  "is not in it",
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","nbf":1000}]}`: "is not in it",
	} {
		own, err := json.Marshal(PublicKey(public))
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseDirectory([]byte(strings.ReplaceAll(text, "KEY", string(own))))
		if err == nil {
			err = d.Has(public, now)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A directory has the form in the draft ("Signed Directory Response"). Its path and media type
// are those that the draft registers.
func TestADirectoryIsThatOfTheDraft(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Directory{[]Key{PublicKey(keyOfTest(t).Public().(ed25519.PublicKey))}})
	const want = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if DirectoryPath != "/.well-known/http-message-signatures-directory" || DirectoryType != "application/http-message-signatures-directory+json" {
		t.Error(DirectoryPath, DirectoryType)
	}
}

func FuzzParseDirectory(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","exp":1e400}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","exp":1.5}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDirectory(text)
		if err == nil && d.Keys == nil {
			t.Errorf("%q: no keys and no error", text)
		}
		d.Has(make(ed25519.PublicKey, ed25519.PublicKeySize), time.Unix(0, 0))
	})
}

package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func TestWhoseFaultAFailureIs(t *testing.T) {
	for trouble, stages := range map[frontier.Trouble][]Stage{
		frontier.NoTrouble:      {StageAddress, StageStale, StageStopped},
		frontier.ConnectTrouble: {StageDNS, StageDNSTimeout, StageProxy, StageConnect, StageConnectTimeout, StageTLS, StageTLSTimeout, StageReset},
		frontier.SilenceTrouble: {StageAnswerTimeout},
		frontier.SiteTrouble:    {StageCalm, StageChallenge},
		frontier.PageTrouble: {
			StageProtocol, StageHeaderSize, StageEncoding, StageTruncated, StageBodyTimeout, StageTotalTimeout,
		},
	} {
		for _, s := range stages {
			if got := s.trouble(); got != trouble {
				t.Errorf("%s: %d, want %d", s, got, trouble)
			}
			want := "unspecified"
			switch s {
			case StageBodyTimeout, StageTotalTimeout:
				want = "time"
			case StageTruncated:
				want = "disconnect"
			}
			if got := truncation(s); got != want {
				t.Errorf("%s: truncated by %q, want %q", s, got, want)
			}
		}
	}
}

// The server may also report a TLS error after the handshake.
func TestErrorsOfTLS(t *testing.T) {
	for _, err := range []error{
		tls.AlertError(116), tls.RecordHeaderError{}, &tls.CertificateVerificationError{Err: errors.New("x")}, x509.UnknownAuthorityError{},
	} {
		if !isTLS(err) || !isTLS(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%T is not recognised", err)
		}
	}
	if isTLS(errors.New("x")) {
		t.Error("any error is one")
	}
}

// If the file of a body fails, the body gives back its part of the budget.
func TestAVisitThatFailsGivesItsRoomBack(t *testing.T) {
	f := newTour(t, Options{Bodies: Bodies{BodyBudget: 10, TempDir: t.TempDir()}}).fetcher
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	b := &body{share: share{budget: f.bodies}}
	b.plain.share, b.kept.share = &b.share, &b.share
	if err := b.plain.fill(strings.NewReader(strings.Repeat("x", maxScratch+5)), maxScratch+5); err != nil || b.share.taken == 0 {
		t.Fatal(err, b.share)
	}
	w := newWatch(t.Context(), f.opts.Timeout)
	defer w.stop()
	x := &Exchange{URL: u}
	if err := f.host(u.Site()).take(t.Context(), w, x, b, &spoolError{errors.New("full")}); !isSpool(err) || stage(x) != StageStopped {
		t.Errorf("%v, stage %q", err, stage(x))
	}
	if !f.bodies.room.TryAcquire(10) {
		t.Errorf("%d bytes are still taken", b.share.taken)
	}
}

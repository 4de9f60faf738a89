package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// A Stage names where an exchange failed. The names are stable: they stand in
// logs and fates.
type Stage string

// The stages of a failure, in the order in which an exchange comes to them.
const (
	StageDNS            Stage = "dns"
	StageDNSTimeout     Stage = "dns-timeout"
	StageAddress        Stage = "address" // not a public address
	StageProxy          Stage = "proxy"   // no way through it
	StageConnect        Stage = "connect"
	StageConnectTimeout Stage = "connect-timeout"
	StageTLS            Stage = "tls"
	StageTLSTimeout     Stage = "tls-timeout"
	StageStale          Stage = "stale" // a kept connection was closed under the request
	StageReset          Stage = "reset" // the connection broke before the answer
	StageAnswerTimeout  Stage = "answer-timeout"
	StageProtocol       Stage = "protocol"     // no HTTP answer
	StageHeaderSize     Stage = "header-size"  // of the answer, interim ones included: over 256 KiB
	StageHeaderCount    Stage = "header-count" // over 1,000 fields
	StageEncoding       Stage = "encoding"     // Content-Encoding that was not asked for, or broken
	StageTruncated      Stage = "truncated"    // the connection broke within the body
	StageBodyTimeout    Stage = "body-timeout"
	StageTotalTimeout   Stage = "total-timeout"
	StageChallenge      Stage = "challenge" // a whole answer, but one that asks for a browser
	StageStopped        Stage = "stopped"   // by us
)

// An Error says which exchange failed, at which stage, and why.
type Error struct {
	URL   string
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.URL, e.Stage, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// noConnection reports whether the site could not be reached at all, which
// counts against the site and not against the page.
func (s Stage) noConnection() bool {
	switch s {
	case StageDNS, StageDNSTimeout, StageConnect, StageConnectTimeout, StageTLS, StageTLSTimeout, StageReset, StageProxy:
		return true
	}
	return false
}

// truncation is the word of WARC-Truncated (WARC 1.1, section 5.13) for an
// answer that failed at a stage after its header.
func truncation(s Stage) string {
	switch s {
	case StageBodyTimeout, StageTotalTimeout:
		return "time"
	case StageTruncated:
		return "disconnect"
	}
	return "unspecified"
}

// phase is how far an exchange has come.
type phase uint8

const (
	phaseResolve phase = iota
	phaseConnect
	phaseTLS
	phaseAnswer
	phaseBody
)

// errPhase and errTotal are the causes with which our own time-outs cancel.
var (
	errPhase = errors.New("nothing happened within the time-out")
	errTotal = errors.New("not done within the total time-out")
)

var errFields = errors.New("the answer has more than 1,000 header fields")

// stageOf classifies an error by the phase it came in and what it says.
func stageOf(ctx context.Context, at phase, reused bool, err error) Stage {
	var address *AddressError
	var proxy *ProxyError
	var decode *decodeError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &address):
		return StageAddress
	case errors.As(err, &decode):
		return StageEncoding
	case errors.Is(err, errReply):
		return StageProtocol
	case errors.Is(err, errFields):
		return StageHeaderCount
	case errors.As(err, &proxy) && (cause == nil || errors.Is(cause, errPhase) || errors.Is(cause, errTotal)):
		return StageProxy
	case errors.Is(cause, errTotal):
		return StageTotalTimeout
	case errors.Is(cause, errPhase) || isTimeout(err) && cause == nil:
		return [...]Stage{StageDNSTimeout, StageConnectTimeout, StageTLSTimeout, StageAnswerTimeout, StageBodyTimeout}[at]
	case cause != nil:
		return StageStopped
	}
	switch at {
	case phaseResolve:
		return StageDNS
	case phaseConnect:
		return StageConnect
	case phaseTLS:
		return StageTLS
	case phaseBody:
		return StageTruncated
	}
	switch {
	case isTLS(err):
		return StageTLS
	case isHeaderSize(err):
		return StageHeaderSize
	case !isBroken(err):
		return StageProtocol
	case reused:
		return StageStale
	}
	return StageReset
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func isTLS(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &unknown)
}

// isHeaderSize reports whether an answer's header was over the limit of the
// transport. net/http exports neither error: the first is that of HTTP/1.1,
// the second that of HTTP/2.
func isHeaderSize(err error) bool {
	text := err.Error()
	return strings.Contains(text, "response headers exceeded") || strings.Contains(text, "header list larger than")
}

// isBroken reports whether err says that the connection ended, rather than
// that what came over it made no sense.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return true
	}
	// net/http does not export the error of a kept connection that the server
	// closed before the answer.
	return strings.Contains(err.Error(), "server closed idle connection")
}

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

// The stages of a failure.
const (
	StageDNS            Stage = "dns"
	StageAddress        Stage = "address" // not a public address
	StageConnect        Stage = "connect"
	StageTLS            Stage = "tls"
	StageProtocol       Stage = "protocol" // no HTTP answer
	StageReset          Stage = "reset"    // the connection broke before the answer
	StageStale          Stage = "stale"    // a kept connection was closed under the request
	StageTruncated      Stage = "truncated"
	StageEncoding       Stage = "encoding" // Content-Encoding that was not asked for, or broken
	StageDNSTimeout     Stage = "dns-timeout"
	StageConnectTimeout Stage = "connect-timeout"
	StageTLSTimeout     Stage = "tls-timeout"
	StageAnswerTimeout  Stage = "answer-timeout"
	StageBodyTimeout    Stage = "body-timeout"
	StageTotalTimeout   Stage = "total-timeout"
	StageStopped        Stage = "stopped" // by us
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
	case StageDNS, StageDNSTimeout, StageConnect, StageConnectTimeout, StageTLS, StageTLSTimeout, StageReset:
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

// stageOf classifies an error by the phase it came in and what it says.
func stageOf(ctx context.Context, at phase, reused bool, err error) Stage {
	var address *AddressError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &address):
		return StageAddress
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

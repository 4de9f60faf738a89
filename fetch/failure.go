package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/permesso-crawler/permesso/fetch/internal/http1"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Stage is the point of an exchange at which it failed. The names never change, because logs and
// stored results of pages contain them.
type Stage string

// The stages of a failure, in the order in which an exchange reaches them.
const (
	StageDNS            Stage = "dns"
	StageDNSTimeout     Stage = "dns-timeout"
	StageAddress        Stage = "address" // the host has no public address
	StageProxy          Stage = "proxy"   // no connection through the proxy could be made
	StageConnect        Stage = "connect"
	StageConnectTimeout Stage = "connect-timeout"
	StageTLS            Stage = "tls"
	StageTLSTimeout     Stage = "tls-timeout"
	StageStale          Stage = "stale" // the request was not processed: a kept connection was closed during it, or the server says so (RFC 9113, section 8.7)
	StageCalm           Stage = "calm"  // the server wants fewer requests: ENHANCE_YOUR_CALM (RFC 9113, section 7)
	StageReset          Stage = "reset" // the connection broke before the answer
	StageAnswerTimeout  Stage = "answer-timeout"
	StageProtocol       Stage = "protocol"    // the answer is not HTTP
	StageHeaderSize     Stage = "header-size" // the header of the answer, with interim answers, is longer than 256 KiB
	StageEncoding       Stage = "encoding"    // the Content-Encoding is not supported, or the encoded body is broken
	StageTruncated      Stage = "truncated"   // the connection broke within the body
	StageBodyTimeout    Stage = "body-timeout"
	StageTotalTimeout   Stage = "total-timeout"
	StageChallenge      Stage = "challenge" // the answer is complete, but it is a bot-challenge page
	StageStopped        Stage = "stopped"   // the crawler ended the exchange
)

// An Error says which exchange failed, at which stage, and why.
type Error struct {
	URL   string
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.URL, e.Stage, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// noConnection reports whether the site could not be reached at all. This counts as a failure
// of the site, not of the page.
func (s Stage) noConnection() bool {
	switch s {
	case StageDNS, StageDNSTimeout, StageConnect, StageConnectTimeout, StageTLS, StageTLSTimeout, StageReset, StageProxy:
		return true
	}
	return false
}

// ofBody reports whether a failure at this stage concerns only the body. The status and the header
// of the answer are then complete.
func (s Stage) ofBody() bool {
	switch s {
	case StageEncoding, StageTruncated, StageBodyTimeout, StageTotalTimeout:
		return true
	}
	return false
}

// trouble returns the frontier's class of a failure at this stage.
func (s Stage) trouble() frontier.Trouble {
	switch {
	case s.noConnection():
		return frontier.ConnectTrouble
	case s == StageAnswerTimeout:
		return frontier.SilenceTrouble
	case s == StageChallenge, s == StageCalm:
		return frontier.SiteTrouble
	case s == StageStale, s == StageStopped, s == StageAddress:
		return frontier.NoTrouble
	}
	return frontier.PageTrouble
}

// truncation returns the value of WARC-Truncated (WARC 1.1, section 5.13) for an answer that
// failed at stage s after its header.
func truncation(s Stage) string {
	switch s {
	case StageBodyTimeout, StageTotalTimeout:
		return "time"
	case StageTruncated:
		return "disconnect"
	}
	return "unspecified"
}

// A phase is a part of an exchange. Each phase has a time-out.
type phase uint8

const (
	phaseResolve phase = iota
	phaseConnect
	phaseTLS
	phaseAnswer
	phaseBody
)

// errPhase and errTotal are the reasons for which a watch cancels an exchange.
var (
	errPhase = errors.New("nothing happened within the time-out")
	errTotal = errors.New("not done within the total time-out")
)

// stageOf returns the stage of the error err. The parameter cause says why the exchange was ended
// early, or is nil. at is the phase in which err occurred. kept says that the connection was kept
// from an earlier exchange and no byte of the answer came.
func stageOf(cause error, at phase, kept bool, err error) Stage {
	var address *addressError
	var proxy *proxyError
	var decode *decodeError
	switch {
	case errors.As(err, &address):
		return StageAddress
	case errors.Is(err, errSpent):
		return StageStopped
	case errors.As(err, &decode):
		return StageEncoding
	case errors.Is(err, errReply):
		return StageProtocol
	case errors.As(err, &proxy) && (cause == nil || errors.Is(cause, errPhase) || errors.Is(cause, errTotal)):
		return StageProxy
	case errors.Is(cause, errTotal):
		return StageTotalTimeout
	case errors.Is(cause, errPhase) || isTimeout(err) && cause == nil:
		return [...]Stage{StageDNSTimeout, StageConnectTimeout, StageTLSTimeout, StageAnswerTimeout, StageBodyTimeout}[at]
	case cause != nil:
		return StageStopped
	case isCalm(err):
		return StageCalm
	case at == phaseAnswer && (isUnprocessed(err) || wantsHTTP11(err)):
		return StageStale
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
	case kept:
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

// isHeaderSize reports whether the header of an answer was longer than the limit. For HTTP/2 it
// looks at the text of err, because net/http does not export the error.
func isHeaderSize(err error) bool {
	return errors.Is(err, http1.ErrHeadSize) || strings.Contains(err.Error(), "header list larger than")
}

// isBroken reports whether err says that the connection ended, and not that the received bytes are
// invalid.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op)
}

// A streamError has the same fields as the unexported HTTP/2 stream error of net/http. errors.As
// sets the fields by their names.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream error" }

// Error codes of HTTP/2 (RFC 9113, section 7), and the names of these codes in the error texts of
// net/http.
const (
	codeRefusedStream    = 0x7
	codeEnhanceYourCalm  = 0xb
	nameEnhanceYourCalm  = "ENHANCE_YOUR_CALM"
	codeHTTP11Required   = 0xd
	nameHTTP11Required   = "HTTP_1_1_REQUIRED"
	textUnprocessed      = "Server's graceful shutdown GOAWAY"
	textUnprocessedFirst = "received GOAWAY from server ErrCode:"
)

// isCalm reports whether a server ended a stream or the connection with ENHANCE_YOUR_CALM, which
// means that it gets too many requests.
func isCalm(err error) bool { return isCode(err, codeEnhanceYourCalm, nameEnhanceYourCalm) }

// wantsHTTP11 reports whether a server ended a stream or the connection because it wants
// HTTP/1.1.
func wantsHTTP11(err error) bool { return isCode(err, codeHTTP11Required, nameHTTP11Required) }

// isCode reports whether a server ended a stream or the connection with an error code. If the
// server ended the connection, the code is only in the text of err. If a GOAWAY frame ends a
// stream other than the first one, even the text lacks the code, and isCode returns false.
func isCode(err error, code uint32, name string) bool {
	var stream streamError
	if errors.As(err, &stream) {
		return stream.Code == code
	}
	text := err.Error()
	return strings.Contains(text, "ErrCode:"+name) || strings.Contains(text, "ErrCode="+name+",")
}

// isUnprocessed reports whether a server says that it did not process a request (RFC 9113,
// section 8.7).
func isUnprocessed(err error) bool {
	var stream streamError
	if errors.As(err, &stream) {
		return stream.Code == codeRefusedStream
	}
	text := err.Error()
	return strings.Contains(text, textUnprocessed) || strings.Contains(text, textUnprocessedFirst)
}

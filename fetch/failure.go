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

// A Stage names the point at which an exchange failed. The names are stable: logs and fates
// contain them.
type Stage string

// The stages of a failure, in the order in which an exchange reaches them.
const (
	StageDNS            Stage = "dns"
	StageDNSTimeout     Stage = "dns-timeout"
	StageAddress        Stage = "address" // not a public address
	StageProxy          Stage = "proxy"   // no connection through the proxy
	StageConnect        Stage = "connect"
	StageConnectTimeout Stage = "connect-timeout"
	StageTLS            Stage = "tls"
	StageTLSTimeout     Stage = "tls-timeout"
	StageStale          Stage = "stale" // not processed: a kept connection was closed during the request, or the server says so (RFC 9113, section 8.7)
	StageCalm           Stage = "calm"  // the server ended it to get fewer requests: ENHANCE_YOUR_CALM (RFC 9113, section 7)
	StageReset          Stage = "reset" // the connection broke before the answer
	StageAnswerTimeout  Stage = "answer-timeout"
	StageProtocol       Stage = "protocol"    // no HTTP answer
	StageHeaderSize     Stage = "header-size" // of the answer, interim ones included: over 256 KiB
	StageEncoding       Stage = "encoding"    // Content-Encoding that cannot be undone, or is broken
	StageTruncated      Stage = "truncated"   // the connection broke within the body
	StageBodyTimeout    Stage = "body-timeout"
	StageTotalTimeout   Stage = "total-timeout"
	StageChallenge      Stage = "challenge" // the answer is complete, but a bot-challenge page
	StageStopped        Stage = "stopped"   // by the crawler
)

// An Error says which exchange failed, at which stage, and why.
type Error struct {
	URL   string
	Stage Stage
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.URL, e.Stage, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// noConnection reports whether the site could not be reached at all, which counts as the
// site's failure and not the page's.
func (s Stage) noConnection() bool {
	switch s {
	case StageDNS, StageDNSTimeout, StageConnect, StageConnectTimeout, StageTLS, StageTLSTimeout, StageReset, StageProxy:
		return true
	}
	return false
}

// ofBody reports whether a failure at this stage concerns the body alone: the status and the
// header of the answer are complete.
func (s Stage) ofBody() bool {
	switch s {
	case StageEncoding, StageTruncated, StageBodyTimeout, StageTotalTimeout:
		return true
	}
	return false
}

// trouble returns whose fault a failure at this stage is.
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

// A phase is the part of an exchange that is under way.
type phase uint8

const (
	phaseResolve phase = iota
	phaseConnect
	phaseTLS
	phaseAnswer
	phaseBody
)

// errPhase and errTotal are the causes with which the crawler's own time-outs cancel.
var (
	errPhase = errors.New("nothing happened within the time-out")
	errTotal = errors.New("not done within the total time-out")
)

// stageOf returns the stage of an error. cause says why the exchange was ended, and is nil if
// it was not; at is the phase of the error; kept says that the connection was a kept one on
// which no byte was received.
func stageOf(cause error, at phase, kept bool, err error) Stage {
	var address *AddressError
	var proxy *ProxyError
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

// isHeaderSize reports whether an answer's header was over the limit. net/http does not
// export the error of HTTP/2.
func isHeaderSize(err error) bool {
	return errors.Is(err, http1.ErrHeadSize) || strings.Contains(err.Error(), "header list larger than")
}

// isBroken reports whether err says that the connection ended, rather than that the bytes
// received made no sense.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op)
}

// A streamError has the fields of the stream error of net/http's HTTP/2; errors.As fills them
// in by their names.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream error" }

// Error codes of HTTP/2 (RFC 9113, section 7).
const (
	codeRefusedStream    = 0x7
	codeEnhanceYourCalm  = 0xb
	nameEnhanceYourCalm  = "ENHANCE_YOUR_CALM"
	codeHTTP11Required   = 0xd
	nameHTTP11Required   = "HTTP_1_1_REQUIRED"
	textUnprocessed      = "Server's graceful shutdown GOAWAY"
	textUnprocessedFirst = "received GOAWAY from server ErrCode:"
)

// isCalm reports whether a server ended a stream or the connection because it gets too many
// requests.
func isCalm(err error) bool { return isCode(err, codeEnhanceYourCalm, nameEnhanceYourCalm) }

// wantsHTTP11 reports whether a server ended a stream or the connection because it wants
// HTTP/1.1.
func wantsHTTP11(err error) bool { return isCode(err, codeHTTP11Required, nameHTTP11Required) }

// isCode reports whether a server ended a stream or the connection with an error code. For a
// connection only the text of the error has the code, and not even that if a GOAWAY leaves
// out a stream other than the first.
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

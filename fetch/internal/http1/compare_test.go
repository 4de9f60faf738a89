package http1

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An oddity is an unusual answer with the results of three clients that read it: this package,
// net/http, and curl 7.88 with the options of the test. The connection ends after the answer.
// If the name begins with HEAD, the method of the request was HEAD.
type oddity struct {
	name, answer string
	want         string // status and body; "none" if it is not an answer; with "cut" at its end if it is incomplete
	net, curl    string // results of net/http and curl, if they differ from want
	why          string // reason for the result of this package
}

const (
	five    = "Content-Length: 5\r\n"
	chunked = "Transfer-Encoding: chunked\r\n"
	hello   = "5\r\nhello\r\n0\r\n\r\n"
	hint    = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
)

func line(status string) string            { return status + "\r\n" + five + "\r\nhello" }
func field(line string) string             { return ok + line + five + "\r\nhello" }
func answerWith(lines, body string) string { return ok + lines + "\r\n" + body }
func chunks(body string) string            { return ok + chunked + "\r\n" + body }

var oddities = []oddity{
	{name: "as it should be", answer: line("HTTP/1.1 200 OK"), want: "200 hello"},
	{name: "no reason", answer: line("HTTP/1.1 200 "), want: "200 hello"},
	{name: "no reason and no blank", answer: line("HTTP/1.1 200"), want: "200 hello"},
	{name: "a reason of many words", answer: line("HTTP/1.1 200 All is: very well"), want: "200 hello"},
	{name: "a reason in Latin-1", answer: line("HTTP/1.1 200 D\xe9j\xe0 vu"), want: "200 hello"},
	{name: "a tab before the status", answer: line("HTTP/1.1\t200 OK"), want: "none"},
	{name: "two blanks before the status", answer: line("HTTP/1.1  200 OK"), want: "200 hello"},
	{name: "a tab after the status", answer: line("HTTP/1.1 200\tOK"), want: "200 hello", net: "none", why: "the status is clear"},
	{name: "small letters", answer: line("http/1.1 200 OK"), want: "200 hello", net: "none", why: "the meaning is clear"},
	{name: "HTTP/1.0", answer: line("HTTP/1.0 200 OK"), want: "200 hello"},
	{name: "HTTP/1.2", answer: line("HTTP/1.2 200 OK"), want: "200 hello", curl: "none", why: "a higher minor version is read as the own one (RFC 9110, section 2.5)"},
	{name: "HTTP/2.0", answer: line("HTTP/2.0 200 OK"), want: "200 hello"},
	{name: "HTTP/2", answer: line("HTTP/2 200 OK"), want: "200 hello", net: "none", why: "browsers read it, as HTTP/1.0"},
	{name: "HTTP/0.9 as a version", answer: line("HTTP/0.9 200 OK"), want: "200 hello", curl: "none", why: "it has a head, so that it is HTTP/1.0"},
	{name: "HTTP/1", answer: line("HTTP/1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "browsers read it, as HTTP/1.0"},
	{name: "HTTP/11.1", answer: line("HTTP/11.1 200 OK"), want: "none"},
	{name: "HTTP without a version", answer: line("HTTP 200 OK"), want: "none"},
	{name: "a version without a blank", answer: line("HTTP/1.1200 OK"), want: "none"},
	{name: "a reason without a blank", answer: line("HTTP/1.1 200OK"), want: "200 hello", net: "none", why: "browsers read it, and a status has three digits (RFC 9110, section 15)"},
	{name: "a status of two digits", answer: line("HTTP/1.1 20 OK"), want: "none"},
	{name: "a status of two digits alone", answer: line("HTTP/1.1 20"), want: "none"},
	{name: "a status of four digits", answer: line("HTTP/1.1 2000 OK"), want: "none"},
	{name: "a status with a letter", answer: line("HTTP/1.1 20x OK"), want: "none"},
	{name: "a status below 100", answer: line("HTTP/1.1 099 OK"), want: "none", net: "99 hello", why: "no answer has it (RFC 9110, section 15)"},
	{name: "a status of zeros", answer: line("HTTP/1.1 000 OK"), want: "none", net: "0 hello", why: "no answer has it (RFC 9110, section 15)"},
	{name: "a status of 999", answer: line("HTTP/1.1 999 OK"), want: "999 hello"},
	{name: "a status of 600", answer: line("HTTP/1.1 600 OK"), want: "600 hello"},
	{name: "a negative status", answer: line("HTTP/1.1 -20 OK"), want: "none"},
	{name: "Shoutcast", answer: line("ICY 200 OK"), want: "none"},
	{name: "an empty line first", answer: "\r\n" + line("HTTP/1.1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "browsers skip up to four bytes, too: a body that is a line too long leaves them"},
	{name: "two empty lines first", answer: "\r\n\r\n" + line("HTTP/1.1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "browsers skip up to four bytes, too: a body that is a line too long leaves them"},
	{name: "three empty lines first", answer: "\r\n\r\n\r\n" + line("HTTP/1.1 200 OK"), want: "none"},
	{name: "a blank first", answer: " " + line("HTTP/1.1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "browsers skip up to four bytes"},
	{name: "no HTTP", answer: "hello\r\n\r\n", want: "none"},
	{name: "HTTP/0.9, a page alone", answer: "<html>hello</html>\n", want: "none"},
	{name: "nothing", answer: "", want: "none"},
	{name: "line ends of LF alone", answer: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", want: "200 hello"},
	{name: "line ends of both kinds", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello", want: "200 hello"},
	{name: "a line end of CR alone", answer: ok + "X: a\rContent-Length: 3\r\n" + five + "\r\nhello", want: "200 hello", net: "none", why: "CR alone is a blank (RFC 9112, section 2.2)"},
	{name: "a blank before the colon", answer: ok + "Content-Length : 5\r\n\r\nhello, and more", want: "200 hello", net: "200 hello, and more", curl: "200 hello, and more", why: "it is no part of the name (RFC 9112, section 5.1)"},
	{name: "a tab before the colon", answer: ok + "Content-Length\t: 5\r\n\r\nhello, and more", want: "200 hello", net: "none", curl: "200 hello, and more", why: "it is no part of the name (RFC 9112, section 5.1)"},
	{name: "no blank after the colon", answer: ok + "Content-Length:5\r\n\r\nhello", want: "200 hello"},
	{name: "blanks around a value", answer: ok + "Content-Length: \t 5 \t\r\n\r\nhello", want: "200 hello"},
	{name: "a folded field", answer: field("X: a\r\n  b\r\n\tc\r\n"), want: "200 hello"},
	{name: "a fold between blanks", answer: field("X: a \t\r\n \t b\x01\n c\r\n"), want: "200 hello", net: "none", why: "each is a blank (RFC 9110, section 5.5)"},
	{name: "a folded length", answer: ok + "Content-Length:\r\n 5\r\n\r\nhello, and more", want: "200 hello", curl: "none", why: "a fold is a blank (RFC 9112, section 5.2)"},
	{name: "a first line that begins with a blank", answer: ok + " X: a\r\n" + five + "\r\nhello", want: "200 hello", net: "none", curl: "none", why: "it is left out (RFC 9112, section 2.2); the connection is not used again"},
	{name: "a length in a line without a colon", answer: ok + "Content-Length 3\r\n" + five + "\r\nhello", want: "200 hello", net: "none", curl: "none", why: "browsers leave it out; the connection is not used again"},
	{name: "a PHP warning", answer: ok + "<br />\r\n<b>Warning</b>: foo in bar\r\n" + five + "\r\nhello", want: "200 hello", net: "none", curl: "none", why: "browsers leave it out; the connection is not used again"},
	{name: "a status and a number without a blank", answer: line("HTTP/1.1 200.5 OK"), want: "none", curl: "200 hello", why: "the status may have more digits than three"},
	{name: "a reason of a sign", answer: line("HTTP/1.1 200-OK"), want: "none", curl: "200 hello", why: "a reason begins with a letter"},
	{name: "two versions", answer: line("HTTP/1.1 HTTP/1.1 200 OK"), want: "none"},
	{name: "four blanks first", answer: "    " + line("HTTP/1.1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "browsers skip up to four bytes"},
	{name: "five blanks first", answer: "     " + line("HTTP/1.1 200 OK"), want: "none"},
	{name: "twenty zeros before a size", answer: chunks("000000000000000000005\r\nhello\r\n0\r\n\r\n"), want: "200 hello", net: "200 cut", curl: "200 cut", why: "zeros before a number change nothing, as browsers have it"},
	{name: "a length of zero, and another one", answer: answerWith("Content-Length: 0\r\nContent-Length: 5\r\n", "hello"), want: "none", curl: "200 hello", why: "it is unknown which one counts (RFC 9112, section 6.3)"},
	{name: "a length and nothing", answer: answerWith("Content-Length: 5\r\nContent-Length:\r\n", "hello"), want: "none"},
	{name: "a first field that begins with a blank", answer: ok + " Content-Length: 3\r\n" + five + "\r\nhello", want: "none"},
	{name: "a line of blanks", answer: field("X: a\r\n  \r\n"), want: "200 hello"},
	{name: "a line without a colon", answer: field("hello\r\n"), want: "200 hello", net: "none", curl: "none", why: "browsers leave it out; the connection is not used again"},
	{name: "a line without a name", answer: field(": hello\r\n"), want: "200 hello", net: "none", why: "a line with such a name means nothing: it is left out"},
	{name: "a name of two words", answer: field("My Field: a\r\n"), want: "200 hello"},
	{name: "a name in brackets", answer: field("<meta>: a\r\n"), want: "200 hello", net: "none", why: "a line with such a name means nothing: it is left out"},
	{name: "a name in Latin-1", answer: field("\xe9t\xe9: a\r\n"), want: "200 hello", net: "none", why: "a line with such a name means nothing: it is left out"},
	{name: "a zero byte in a name", answer: field("X\x00: a\r\n"), want: "none"},
	{name: "a zero byte in a value", answer: field("X: a\x00b\r\n"), want: "none"},
	{name: "control characters in a value", answer: field("X: a\x01\x1b[31mb\x7f\r\n"), want: "200 hello", net: "none", why: "each is a blank (RFC 9110, section 5.5)"},
	{name: "a value in Latin-1", answer: field("X: \xe9t\xe9\r\n"), want: "200 hello"},
	{name: "no value", answer: field("X:\r\n"), want: "200 hello"},
	{name: "one field in two lines", answer: field("X: a\r\nx: b\r\n"), want: "200 hello"},
	{name: "a name of 70,000 bytes", answer: field(strings.Repeat("X", 70000) + ": a\r\n"), want: "200 hello"},
	{name: "a value of 70,000 bytes", answer: field("X: " + strings.Repeat("a", 70000) + "\r\n"), want: "200 hello"},
	{name: "2,000 fields", answer: field(strings.Repeat("X: a\r\n", 2000)), want: "200 hello"},
	{name: "300,000 bytes of fields", answer: field(strings.Repeat("X: "+strings.Repeat("a", 994)+"\r\n", 300)), want: "none", curl: "200 hello", why: "a limit of this package; that of curl is a little higher"},
	{name: "the end within the status line", answer: "HTTP/1.1 20", want: "none"},
	{name: "the end within a field", answer: ok + "Content-", want: "none", curl: "200", why: "a head without its end is no answer: a field that counts may be missing"},
	{name: "the end after a field", answer: ok + five, want: "none", curl: "200 cut", why: "a head without its end is no answer: a field that counts may be missing"},
	{name: "the end after the status line", answer: ok, want: "none", curl: "200", why: "a head without its end is no answer: a field that counts may be missing"},
	{name: "no length", answer: answerWith("", "hello"), want: "200 hello"},
	{name: "the same length twice", answer: answerWith("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), want: "200 hello"},
	{name: "the same length twice in one field", answer: answerWith("Content-Length: 5, 5\r\n", "hello"), want: "200 hello", net: "none", why: "they agree (RFC 9110, section 8.6)"},
	{name: "two lengths", answer: answerWith("Content-Length: 4\r\nContent-Length: 5\r\n", "hello"), want: "none", curl: "200 hello", why: "one of them is false, as in response splitting (RFC 9112, section 11.1)"},
	{name: "two lengths in one field", answer: answerWith("Content-Length: 4, 5\r\n", "hello"), want: "none", curl: "200 hell", why: "one of them is false, as in response splitting (RFC 9112, section 11.1)"},
	{name: "two lengths, one of them invalid", answer: answerWith("Content-Length: 5,\r\n", "hello"), want: "none", curl: "200 hello", why: "an invalid length is an error of the server: the end of the body would be a guess"},
	{name: "an empty length", answer: answerWith("Content-Length:\r\n", "hello"), want: "200 hello", net: "none", curl: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length with a sign", answer: answerWith("Content-Length: +5\r\n", "hello"), want: "200 hello", net: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a negative length", answer: answerWith("Content-Length: -5\r\n", "hello"), want: "200 hello", net: "none", curl: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length with a letter", answer: answerWith("Content-Length: 5x\r\n", "hello"), want: "200 hello", net: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length in hexadecimal digits", answer: answerWith("Content-Length: 0x5\r\n", "hello"), want: "200 hello", net: "none", curl: "200", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length with a fraction", answer: answerWith("Content-Length: 5.0\r\n", "hello"), want: "200 hello", net: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length with zeros before it", answer: answerWith("Content-Length: 005\r\n", "hello"), want: "200 hello"},
	{name: "a length beyond counting", answer: answerWith("Content-Length: 99999999999999999999\r\n", "hello"), want: "200 hello", net: "none", why: "it is not a length: browsers read up to the end of the connection"},
	{name: "a length that is too long", answer: answerWith("Content-Length: 10\r\n", "hello"), want: "200 hello cut"},
	{name: "a length that is too short", answer: answerWith("Content-Length: 2\r\n", "hello"), want: "200 he"},
	{name: "a length of zero before a body", answer: answerWith("Content-Length: 0\r\n", "hello"), want: "200"},
	{name: "chunks", answer: chunks(hello), want: "200 hello"},
	{name: "chunks, in capitals", answer: answerWith("TRANSFER-ENCODING: CHUNKED\r\n", hello), want: "200 hello"},
	{name: "chunks and a length", answer: answerWith(five+chunked, hello), want: "200 hello"},
	{name: "chunks and an invalid length", answer: answerWith("Content-Length: x\r\n"+chunked, hello), want: "200 hello", net: "none", curl: "none", why: "the length is ignored (RFC 9112, section 6.3); the connection is not used again"},
	{name: "chunks and two lengths", answer: answerWith("Content-Length: 4\r\nContent-Length: 5\r\n"+chunked, hello), want: "200 hello", net: "none", why: "the length is ignored (RFC 9112, section 6.3); the connection is not used again"},
	{name: "chunked twice in two fields", answer: answerWith(chunked+chunked, hello), want: "200 hello", net: "none", why: "two programs name the coding, one has applied it; the connection is not used again"},
	{name: "chunked twice in one field", answer: answerWith("Transfer-Encoding: chunked, chunked\r\n", hello), want: "200 hello", net: "none", why: "two programs name the coding, one has applied it; the connection is not used again"},
	{name: "chunked, and identity", answer: answerWith("Transfer-Encoding: identity, chunked\r\n", hello), want: "200 hello", net: "none", why: "identity changes nothing (RFC 2616, section 3.6)"},
	{name: "identity", answer: answerWith("Transfer-Encoding: identity\r\n"+five, "hello"), want: "200 hello", net: "none", why: "identity changes nothing (RFC 2616, section 3.6)"},
	{name: "identity without a length", answer: answerWith("Transfer-Encoding: identity\r\n", "hello"), want: "200 hello", net: "none", why: "identity changes nothing (RFC 2616, section 3.6)"},
	{name: "no coding", answer: answerWith("Transfer-Encoding:\r\n"+five, "hello"), want: "200 hello", net: "none", why: "an empty field names no coding"},
	{name: "an unknown coding", answer: answerWith("Transfer-Encoding: x\r\n", "hello"), want: "none"},
	{name: "a coding before chunked", answer: answerWith("Transfer-Encoding: x, chunked\r\n", hello), want: "none"},
	{name: "a coding after chunked", answer: answerWith("Transfer-Encoding: chunked, x\r\n", hello), want: "none"},
	{name: "chunked in quotation marks", answer: answerWith("Transfer-Encoding: \"chunked\"\r\n", hello), want: "none"},
	{name: "chunked with a parameter", answer: answerWith("Transfer-Encoding: chunked;q=1\r\n", hello), want: "none"},
	{name: "chunked with a vertical tab", answer: answerWith("Transfer-Encoding: \x0bchunked\r\n", hello), want: "none"},
	{name: "a blank before the colon of chunked", answer: answerWith("Transfer-Encoding : chunked\r\n", hello), want: "200 hello", net: "200 5\r\nhello\r\n0", curl: "200 5\r\nhello\r\n0", why: "it is no part of the name (RFC 9112, section 5.1)"},
	{name: "chunks of HTTP/1.0", answer: "HTTP/1.0 200 OK\r\n" + chunked + "\r\n" + hello, want: "200 5\r\nhello\r\n0", curl: "200 hello", why: "HTTP/1.0 has no chunks (RFC 9112, section 6.1), and browsers read none there"},
	{name: "chunks and a length of HTTP/1.0", answer: "HTTP/1.0 200 OK\r\n" + chunked + "Content-Length: 15\r\n\r\n" + hello, want: "200 5\r\nhello\r\n0", curl: "200 hello", why: "HTTP/1.0 has no chunks (RFC 9112, section 6.1), and browsers read none there"},
	{name: "chunks in large digits", answer: chunks("A\r\nhellohello\r\n0\r\n\r\n"), want: "200 hellohello"},
	{name: "zeros before a size", answer: chunks("0005\r\nhello\r\n000\r\n\r\n"), want: "200 hello"},
	{name: "a size of seventeen digits", answer: chunks("00000000000000005\r\nhello\r\n0\r\n\r\n"), want: "200 hello", net: "200 cut", curl: "200 cut", why: "zeros before a number change nothing, as browsers have it"},
	{name: "a blank after a size", answer: chunks("5 \r\nhello\r\n0 \r\n\r\n"), want: "200 hello"},
	{name: "a blank before a size", answer: chunks(" 5\r\nhello\r\n0\r\n\r\n"), want: "200 cut"},
	{name: "an extension", answer: chunks("5;a=b\r\nhello\r\n0;c\r\n\r\n"), want: "200 hello"},
	{name: "an extension after a blank", answer: chunks("5 ; a=\"b;c\"\r\nhello\r\n0\r\n\r\n"), want: "200 hello", net: "200 cut", why: "extensions are ignored, and blanks before them are allowed (RFC 9112, section 7.1.1)"},
	{name: "something after a size", answer: chunks("5 x\r\nhello\r\n0\r\n\r\n"), want: "200 cut", curl: "200 hello", why: "it is neither a size nor an extension"},
	{name: "an extension of 5,000 bytes", answer: chunks("5;" + strings.Repeat("x", 5000) + "\r\nhello\r\n0\r\n\r\n"), want: "200 cut", curl: "200 hello", why: "a limit of this package"},
	{name: "a size with a sign", answer: chunks("+5\r\nhello\r\n0\r\n\r\n"), want: "200 cut"},
	{name: "a negative size", answer: chunks("-5\r\nhello\r\n0\r\n\r\n"), want: "200 cut"},
	{name: "a size with 0x", answer: chunks("0x5\r\nhello\r\n0\r\n\r\n"), want: "200 cut", curl: "none", why: "the head is an answer"},
	{name: "an invalid size", answer: chunks("zz\r\nhello\r\n0\r\n\r\n"), want: "200 cut"},
	{name: "no size", answer: chunks("\r\nhello\r\n0\r\n\r\n"), want: "200 cut"},
	{name: "a size beyond counting", answer: chunks("ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), want: "200 cut", net: "200 hello\r\n0 cut", why: "a size that overflows is not read"},
	{name: "a size with an underscore", answer: chunks("0_5\r\nhello\r\n0\r\n\r\n"), want: "200 cut", curl: "none", why: "the head is an answer"},
	{name: "chunks with LF alone", answer: chunks("5\nhello\n0\n\n"), want: "200 hello", net: "200 cut", why: "for a client with one request at a time the meaning is clear"},
	{name: "a size with CR alone", answer: chunks("5\rhello\r\n0\r\n\r\n"), want: "200 cut", curl: "200 0 cut", why: "CR alone ends no line: curl takes the five bytes after it"},
	{name: "CR within the line of a size", answer: chunks("5;a\rb\r\nhello\r\n0\r\n\r\n"), want: "200 hello", net: "200 cut", why: "extensions are ignored, with any characters"},
	{name: "content that is longer than its size", answer: chunks("2\r\nhello\r\n0\r\n\r\n"), want: "200 he cut"},
	{name: "content that is shorter than its size", answer: chunks("6\r\nhello\r\n0\r\n\r\n"), want: "200 hello cut", curl: "200 hello", why: "the size covers the next line end: curl takes that for content"},
	{name: "nothing after the content", answer: chunks("5\r\nhello0\r\n\r\n"), want: "200 hello cut"},
	{name: "an empty line too much", answer: chunks("5\r\nhello\r\n\r\n0\r\n\r\n"), want: "200 hello cut"},
	{name: "the end within a chunk", answer: chunks("5\r\nhe"), want: "200 he cut"},
	{name: "the end after a chunk", answer: chunks("5\r\nhello\r\n"), want: "200 hello cut"},
	{name: "the end within a size", answer: chunks("5\r\nhello\r\n0"), want: "200 hello cut"},
	{name: "the end after the last size", answer: chunks("5\r\nhello\r\n0\r\n"), want: "200 hello", net: "200 hello cut", curl: "200 hello cut", why: "the body is complete before it"},
	{name: "no chunk", answer: chunks(""), want: "200 cut"},
	{name: "a trailer", answer: chunks("5\r\nhello\r\n0\r\nX: a\r\nY: b\r\n\r\n"), want: "200 hello"},
	{name: "a trailer that is no field", answer: chunks("5\r\nhello\r\n0\r\nhello\r\n\r\n"), want: "200 hello", net: "200 hello cut", curl: "none", why: "the body is complete before it"},
	{name: "the end within a trailer", answer: chunks("5\r\nhello\r\n0\r\nX: a"), want: "200 hello", net: "200 hello cut", curl: "200 hello cut", why: "the body is complete before it"},
	{name: "a trailer of 20,000 bytes", answer: chunks("5\r\nhello\r\n0\r\n" + strings.Repeat("X: abcde\r\n", 2000) + "\r\n"), want: "200 hello cut", curl: "200 hello", why: "a limit of this package"},
	{name: "a body that is not in chunks", answer: chunks("hello"), want: "200 cut"},
	{name: "something after the last chunk", answer: chunks(hello + "more"), want: "200 hello"},
	{name: "204 with a length", answer: "HTTP/1.1 204 No Content\r\n" + five + "\r\n", want: "204"},
	{name: "204 with a body", answer: "HTTP/1.1 204 No Content\r\n" + five + "\r\nhello", want: "204"},
	{name: "204 with chunks", answer: "HTTP/1.1 204 No Content\r\n" + chunked + "\r\n" + hello, want: "204"},
	{name: "304 with a length", answer: "HTTP/1.1 304 Not Modified\r\n" + five + "\r\n", want: "304"},
	{name: "304 with two lengths", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", want: "304", net: "none", why: "there is no body that they could describe"},
	{name: "205 with a body", answer: "HTTP/1.1 205 Reset Content\r\n" + five + "\r\nhello", want: "205 hello"},
	{name: "HEAD with a length", answer: ok + five + "\r\n", want: "200"},
	{name: "HEAD with chunks", answer: ok + chunked + "\r\n", want: "200"},
	{name: "HEAD with an invalid length", answer: ok + "Content-Length: x\r\n\r\n", want: "200", net: "none", curl: "none", why: "there is no body that it could describe"},
	{name: "HEAD with two lengths", answer: ok + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", want: "200", net: "none", why: "there is no body that they could describe"},
	{name: "HEAD with a body", answer: ok + five + "\r\nhello", want: "200"},
	{name: "an early hint", answer: hint + line("HTTP/1.1 200 OK"), want: "200 hello"},
	{name: "100 and an early hint", answer: "HTTP/1.1 100 Continue\r\n\r\n" + hint + line("HTTP/1.1 200 OK"), want: "200 hello"},
	{name: "199", answer: "HTTP/1.1 199 X\r\n\r\n" + line("HTTP/1.1 200 OK"), want: "200 hello"},
	{name: "102 with a length", answer: "HTTP/1.1 102 Processing\r\n" + five + "\r\n" + line("HTTP/1.1 200 OK"), want: "200 hello"},
	{name: "an early hint that is no field", answer: "HTTP/1.1 103 Early Hints\r\nhello\r\n\r\n" + line("HTTP/1.1 200 OK"), want: "200 hello", net: "none", curl: "none", why: "interim answers are not used"},
	{name: "100 early hints", answer: strings.Repeat(hint, 100) + line("HTTP/1.1 200 OK"), want: "none", net: "200 hello", curl: "200 hello", why: "a limit of this package: 64"},
	{name: "an early hint alone", answer: hint, want: "none"},
	{name: "a switch of protocols", answer: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello", want: "101", curl: "101 hello", why: "it was not requested, and what follows is not HTTP"},
}

func (a oddity) head() bool { return strings.HasPrefix(a.name, "HEAD") }

// short returns an outcome in the form that the table has.
func (o outcome) short() string {
	switch {
	case o.err != nil:
		return "none"
	case o.bodyErr != nil:
		return strings.TrimSpace(fmt.Sprint(o.status, " ", o.body)) + " cut"
	}
	return strings.TrimSpace(fmt.Sprint(o.status, " ", o.body))
}

func TestOddAnswers(t *testing.T) {
	for _, a := range oddities {
		if got := exchange(says(a.answer, 0), a.head()).short(); got != a.want {
			t.Errorf("%s: %q is %s, want %s", a.name, clip(a.answer), got, a.want)
		}
		if (a.why == "") != (a.net == "" && a.curl == "") || a.net == a.want || a.curl == a.want {
			t.Errorf("%s: a difference has a reason, and a reason a difference", a.name)
		}
	}
	if len(oddities) < 150 {
		t.Errorf("%d answers", len(oddities))
	}
}

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// reads returns the result of each read of a body, and the bytes that follow on the connection.
func reads(on io.ReadWriter, bodiless bool, size int) (told string) {
	c := New(on)
	if err := c.Send(nil); err != nil {
		return " " + err.Error()
	}
	// The results of the reads depend on the size of the buffer. A buffer from the pool may have
	// grown in another exchange.
	fresh := make([]byte, bufferSize)
	c.buf = &fresh
	resp, err := c.Receive(bodiless)
	if err != nil {
		return ""
	}
	p := make([]byte, size)
	for range 12 {
		n, err := resp.Body.Read(p)
		told += fmt.Sprintf(" %d", n)
		if err != nil {
			told += fmt.Sprintf(" %.40v", err)
			n, err = resp.Body.Read(p)
			return fmt.Sprintf("%s, then %d %.40v, %d bytes are left, again %t", told, n, err, len(c.buffered()), c.End())
		}
	}
	return told
}

// The reads of each odd answer give the results in the golden file.
func TestGoldenAnswers(t *testing.T) {
	var is strings.Builder
	for _, a := range oddities {
		o := exchange(says(a.answer, 0), a.head())
		fmt.Fprintf(&is, "%s\n\t%v\n\tits head has %d bytes\n", a.name, o, len(o.head))
		for _, by := range [][2]int{{0, 4}, {3, 4}, {9, 1000}, {0, 20_000}} {
			if told := reads(says(a.answer, by[0]), a.head(), by[1]); told != "" {
				fmt.Fprintf(&is, "\tby %d bytes of portions of %d:%s\n", by[1], by[0], told)
			}
		}
	}
	golden := filepath.Join("testdata", "answers.txt")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(is.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), is.String()); diff != "" {
		t.Error(diff)
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }

func TestOddAnswersReadByNetHTTP(t *testing.T) {
	for _, a := range oddities {
		want := a.net
		if want == "" {
			want = a.want
		}
		if got := byNetHTTP(a.answer, a.head()).short(); got != want {
			t.Errorf("%s: %q is %s, want %s", a.name, clip(a.answer), got, want)
		}
	}
}

// byNetHTTP reads an answer as http.Transport does.
func byNetHTTP(answer string, head bool) (o outcome) {
	limited := &io.LimitedReader{R: strings.NewReader(answer), N: MaxHead}
	r := bufio.NewReader(limited)
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	for {
		resp, err := http.ReadResponse(r, req)
		if err != nil {
			return outcome{err: err}
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		limited.N = math.MaxInt64
		body, err := io.ReadAll(resp.Body)
		return outcome{status: resp.StatusCode, header: resp.Header, body: string(body), bodyErr: err}
	}
}

// This test needs PERMESSO_CURL=1 and curl 7.88 of Debian 12. Other versions may read differently.
func TestOddAnswersReadByCurl(t *testing.T) {
	if os.Getenv("PERMESSO_CURL") == "" {
		t.Skip("PERMESSO_CURL is not set")
	}
	if version, err := exec.Command("curl", "--version").Output(); err != nil || !strings.HasPrefix(string(version), "curl 7.88.") {
		t.Skipf("the table is that of curl 7.88, and here is %.12q: %v", version, err)
	}
	for _, a := range oddities {
		want := a.curl
		if want == "" {
			want = a.want
		}
		if got := byCurl(t, a.answer, a.head()).short(); got != want {
			t.Errorf("%s: %q is %s, want %s", a.name, clip(a.answer), got, want)
		}
	}
}

func byCurl(t *testing.T, answer string, head bool) (o outcome) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // this goroutine ends when curl closes the connection, or when l is closed
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		io.WriteString(c, answer)
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
	}()
	file := filepath.Join(t.TempDir(), "body")
	args := []string{"-sq", "--http1.1", "--max-time", "10", "-o", file, "-w", "%{http_code}", "http://" + l.Addr().String() + "/"}
	if head {
		args = append(args, "--head")
	}
	out, err := exec.Command("curl", args...).Output()
	o.status, _ = strconv.Atoi(string(out))
	if body, rerr := os.ReadFile(file); rerr == nil && !head {
		o.body = string(body)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && (exit.ExitCode() == 18 || exit.ExitCode() == 56) && o.status > 0: // exit codes of curl: 18 is a partial file, 56 a failure to receive
		o.bodyErr = err
	default:
		o.err = err
	}
	return o
}

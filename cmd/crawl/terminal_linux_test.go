package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/demoweb"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
	"golang.org/x/sys/unix"
)

// A pty is a pseudo-terminal with input that was typed in advance.
type pty struct {
	*os.File
	text func() string // closes it, and returns all that it has shown
}

// hungUp marks the end of what a terminal shows.
const hungUp = "\x04the end\x04"

func newTerminal(t *testing.T, columns uint16, typed string) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there is no pseudo-terminal here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	tty, err2 := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err := errors.Join(err, err2); err != nil {
		t.Skip("the pseudo-terminal cannot be had: ", err)
	}
	t.Cleanup(func() { tty.Close() })
	attributes, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	attributes.Lflag &^= unix.ECHO
	attributes.Oflag &^= unix.OPOST
	err = errors.Join(unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, attributes),
		unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	if err != nil {
		t.Fatal(err)
	}
	// Control-D, twice after half a line, so that a further read gets the end of the input.
	if _, err := master.WriteString(typed + "\x04\x04"); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	// Reads what it shows. It ends with text, which each test calls at its end.
	go func() {
		var all []byte
		b := make([]byte, 4096)
		for !bytes.HasSuffix(all, []byte(hungUp)) {
			n, err := master.Read(b)
			if err != nil {
				break
			}
			all = append(all, b[:n]...)
		}
		shown <- strings.TrimSuffix(string(all), hungUp)
	}()
	term := &pty{tty, sync.OnceValue(func() string {
		if _, err := tty.WriteString(hungUp); err != nil {
			t.Error(err)
		}
		return <-shown
	})}
	t.Cleanup(func() { term.text() })
	return term
}

const (
	askName    = "Name of the crawler (letters, - and _): "
	askContact = "Contact (a web page or an e-mail address): "
)

// On a terminal the program asks for the missing parts of the identity, and only for those,
// until the answer is valid.
func TestWhoCrawlsIsAskedForOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		name     string
		contact  []string
		typed    string
		want     crawler.Identity
		asked    []string // questions, in this order
		mentions string
	}{
		"both":    {"", nil, " mybot \n me@example.org \n", crawler.Identity{Token: "mybot", Contact: "me@example.org"}, []string{askName, askContact}, "Site owners must"},
		"name":    {"", []string{"me@example.org"}, "mybot\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"}, []string{askName}, ""},
		"contact": {"mybot", nil, "me@example.org\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"}, []string{askContact}, ""},
		"no token": {"", nil, "my bot\nme@example.org\nmybot\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"},
			[]string{askName, askContact, askName}, "my bot"},
		"the name of another": {"Googlebot", nil, "me@example.org\nmybot\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"},
			[]string{askContact, askName}, `"Googlebot" is the name of`},
		"no contact": {"", nil, "mybot\nnobody\nhttps://example.org/\n", crawler.Identity{Token: "mybot", Contact: "https://example.org/"},
			[]string{askName, askContact, askContact}, `"nobody" is neither`},
		"no address": {"", []string{"https://example.org/", "nobody"}, "mybot\nme@example.org\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"},
			[]string{askName, askContact}, `"nobody" is no e-mail address`},
		"nothing at all": {"", nil, "\n\nmybot\nme@example.org\n", crawler.Identity{Token: "mybot", Contact: "me@example.org"},
			[]string{askName, askContact, askName, askContact}, "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := ownHome(t)
			term := newTerminal(t, 80, c.typed)
			p := &program{in: term.File, err: term.File}
			id, err := p.identity(c.name, c.contact)
			text := term.text()
			if err != nil || id != c.want {
				t.Errorf("%+v (%v), want %+v\n%s", id, err, c.want, text)
			}
			var asked []string
			for rest := text; rest != ""; rest = rest[1:] {
				for _, question := range []string{askName, askContact} {
					if strings.HasPrefix(rest, question) {
						asked = append(asked, question)
					}
				}
			}
			if !strings.Contains(text, c.mentions) || !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %q, want %q, and %q\n%s", asked, c.asked, c.mentions, text)
			}
			if !strings.HasSuffix(text, "Kept in "+kept+".\n") {
				t.Errorf("the place where it is kept is not printed:\n%s", text)
			}
			// The file is readable for this user alone, and the next crawl asks nothing.
			info, err := os.Stat(kept)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%v: %v", info, err)
			}
			again := newTerminal(t, 80, "")
			if id, err := (&program{in: again.File, err: again.File}).identity("", nil); err != nil || id != c.want || again.text() != "" {
				t.Errorf("the next crawl: %+v, %v", id, err)
			}
		})
	}
}

// Without an answer the program says what to give, and saves nothing.
func TestWhoDoesNotAnswerIsToldWhatToGive(t *testing.T) {
	for _, typed := range []string{"", "mybot\n", "mybot"} {
		kept := ownHome(t)
		term := newTerminal(t, 80, typed)
		_, err := (&program{in: term.File, err: term.File}).identity("", nil)
		if exit.Code(err) != exit.Usage || !strings.HasPrefix(err.Error(), "who crawls?") || crawldir.Exists(kept) {
			t.Errorf("typed %q: %v; kept: %v", typed, err, crawldir.Exists(kept))
		}
	}
	// It also asks nothing if there is no input to answer from, or no terminal to show the
	// question.
	ownHome(t)
	term := newTerminal(t, 80, "mybot\nme@example.org\n")
	for _, p := range []*program{{in: strings.NewReader("mybot\nme@example.org\n"), err: term.File}, {in: term.File, err: &bytes.Buffer{}}} {
		if _, err := p.identity("", nil); exit.Code(err) != exit.Usage {
			t.Error(err)
		}
	}
	if text := term.text(); text != "" {
		t.Errorf("asked: %s", text)
	}
}

// If the answer cannot be saved, it counts for one crawl; a directory that cannot be made
// is named.
func TestAnswersThatCannotBeKept(t *testing.T) {
	ownHome(t)
	t.Setenv("HOME", "")
	term := newTerminal(t, 80, "mybot\nme@example.org\n")
	id, err := (&program{in: term.File, err: term.File}).identity("", nil)
	if text := term.text(); err != nil || id.Token != "mybot" || strings.Contains(text, "Kept in") {
		t.Errorf("%+v, %v\n%s", id, err, text)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "permesso", "identity.json"), filepath.Dir(file)} {
		term := newTerminal(t, 80, "mybot\nme@example.org\n")
		if err := (&program{in: term.File, err: term.File}).askIdentity(&crawler.Identity{}, path); err == nil || !strings.Contains(err.Error(), filepath.Dir(file)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Progress depends on the output: a block if the terminal can be drawn on, lines for people
// if not, lines for programs without a terminal.
func TestScreens(t *testing.T) {
	for _, c := range []struct {
		progress, term string
		at             string // the terminal: block, lines; "" if none
		every          time.Duration
	}{
		{"auto", "xterm", "block", 250 * time.Millisecond}, {"auto", "", "block", 250 * time.Millisecond}, {"auto", "dumb", "lines", 2 * time.Second},
		{"plain", "xterm", "lines", 2 * time.Second}, {"none", "xterm", "", 0},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", "")
		term := newTerminal(t, 43, "")
		p := &program{err: term.File}
		s := p.screen(c.progress, true)
		if s.every != c.every || (s.board != nil) != (c.at == "block") || (s.width != nil) != (c.at == "lines") || !s.json {
			t.Errorf("%s, TERM=%s: %+v", c.progress, c.term, s)
		}
		columns := 43
		if c.at == "" {
			columns = 0
		}
		if s.columns() != columns {
			t.Errorf("%s, TERM=%s: %d columns, want %d", c.progress, c.term, s.columns(), columns)
		}
		if colours := terminal.Colours(term.File); colours != (c.term != "dumb") || s.board != nil && s.board.Colours != colours {
			t.Errorf("%s, TERM=%s: colours: %v", c.progress, c.term, colours)
		}
		// Messages go through the block, not into it.
		if (p.err == s.board) != (c.at == "block") {
			t.Errorf("%s, TERM=%s: writes to %T", c.progress, c.term, p.err)
		}
	}
	for progress, every := range map[string]time.Duration{"auto": 30 * time.Second, "plain": 30 * time.Second, "none": 0} {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, p := range []*program{{err: &bytes.Buffer{}}, {err: file}} {
			if s := p.screen(progress, false); s.every != every || s.board != nil || s.columns() != 0 || s.json {
				t.Errorf("%s, no terminal: %+v", progress, s)
			}
		}
	}
	if term := newTerminal(t, 0, ""); terminal.WidthOf(term.File) != 80 {
		t.Errorf("a terminal that does not know its width: %d columns", terminal.WidthOf(term.File))
	}
}

// A crawl on a narrow terminal breaks its lines between words, and erases the block that it
// has drawn. With NO_COLOR it says the same without colours.
func TestACrawlOnANarrowTerminal(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	t.Setenv("TERM", "xterm")
	site := httptest.NewServer(demoweb.Handler(false, 0, false))
	defer site.Close()
	for _, columns := range []uint16{40, 80, 120, 121} {
		noColour := ""
		if columns%2 == 1 {
			noColour = "1"
		}
		t.Setenv("NO_COLOR", noColour)
		term := newTerminal(t, columns, "")
		code := run([]string{"run", "--name", "testbot", "--contact", "me@example.org", "--delay", "10ms", "--patience", "1s", "--scope", "list", "--fresh",
			"--connect-to", "::" + strings.TrimPrefix(site.URL, "http://"), "--dir", "a.crawl", "http://library.demo.test/"}, term, term.File, term.File)
		text := term.text()
		style := regexp.MustCompile("\x1b\\[(1|32|35|1;31)?m")
		if coloured := style.MatchString(text); coloured == (noColour != "") {
			t.Errorf("%d columns, NO_COLOR=%s: coloured: %v", columns, noColour, coloured)
		}
		text = style.ReplaceAllString(text, "")
		if other := regexp.MustCompile("\x1b(\\[[0-9]+F|\\[[JK]|\\[\\?(7|2026)[hl])").ReplaceAllString(text, ""); strings.Contains(other, "\x1b") {
			t.Errorf("%d columns: something moves: %q", columns, other)
		}
		rows := screenAfter(t, text, int(columns))
		if columns == 40 {
			want := []string{"crawl: 1 seed as testbot into a.crawl;", "       Ctrl-C stops, the same command", "       goes on"}
			if code != exit.Done || !slices.Equal(rows[:len(want)], want) {
				t.Errorf("exit %d, the first lines are %q", code, rows)
			}
		}
		labels := 0
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); n > int(columns) {
				t.Errorf("%d of %d columns: %s", n, columns, row)
			}
			if row != "" && row[0] >= 'a' && row[0] <= 'z' && !strings.HasPrefix(row, "crawl: ") {
				labels++
				if _, rest, _ := strings.Cut(row, " "); rest == "" {
					t.Errorf("%d columns: a line begins in its first column: %q", columns, row)
				}
			}
		}
		if labels < 7 {
			t.Errorf("%d columns: the summary has %d labels:\n%s", columns, labels, strings.Join(rows, "\n"))
		}
	}
}

// While lines of output come on a terminal, no progress is printed between them; it is when
// none come.
func TestNothingIsSaidBetweenLinesThatCome(t *testing.T) {
	term := newTerminal(t, 80, "")
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		err := (&program{out: term.File, err: &said}).whileQuiet(reading("list", "a.crawl", nil), func(out io.Writer) error {
			for range 65 {
				fmt.Fprintln(out, "a line")
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if want := "crawl: list: reading a.crawl for 2m0s\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}

// An export on a terminal is escaped; in a file it has what the site has sent.
func TestAnExportOnATerminalIsText(t *testing.T) {
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	title := steer + " e\u0301t\u00e9 漢"
	line, err := json.Marshal(store.PageRecord{URL: "http://a.test/", Time: time.Date(2030, 1, 2, 3, 4, 6, 0, time.UTC), Status: 200, Title: title})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, store.PagesFile), append(line, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	for format, has := range map[string]string{"csv": "STEER2J e\u0301t\u00e9 漢,", "jsonl": "STEER", "cdxj": "test,a)/ 2030"} {
		term := newTerminal(t, 80, "")
		var said, file bytes.Buffer
		if code := run([]string{"export", dir, "--format", format}, nil, term.File, &said); code != exit.Done {
			t.Errorf("%s: exit %d: %s", format, code, said.String())
		}
		if text := term.text(); strings.ContainsFunc(text, commands) || !strings.Contains(text, has) {
			t.Errorf("%s on a terminal: %q", format, text)
		}
		if code := run([]string{"export", dir, "--format", format}, nil, &file, &said); code != exit.Done || format == "csv" && !strings.Contains(file.String(), title) {
			t.Errorf("%s: exit %d: %q", format, code, file.String())
		}
	}
}

// On a terminal the program asks before it permanently removes anything from a crawl.
func TestWhatIsTakenOutForGoodIsAskedForOnATerminal(t *testing.T) {
	for typed, gone := range map[string]bool{"": false, "\n": false, "n\n": false, "yesterday\n": false, "y\n": true, "YES\n": true} {
		ownHome(t)
		dir := filepath.Join(t.TempDir(), "a.crawl")
		db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
		if err != nil {
			t.Fatal(err)
		}
		x := &warc.Exchange{URL: "http://out.test/", Date: time.Now(), Response: &warc.HTTP{StartLine: warc.StatusLine(200)}}
		if refused, err := db.PutVisit(&store.Visit{Exchanges: []*warc.Exchange{x}}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		term, out := newTerminal(t, 80, typed), &bytes.Buffer{}
		err = (&program{in: term.File, out: out, err: term.File}).optOutPurge(t.Context(), dir, []string{"out.test"}, purgeFlags{})
		text := term.text()
		if !strings.Contains(text, "Permanently remove 1 record of WARC files (") || !strings.HasSuffix(strings.TrimSpace(text), "a.crawl? [y/N]") {
			t.Errorf("typed %q, asked %q", typed, text)
		}
		if gone && (err != nil || !strings.Contains(out.String(), "gone: 1 record of ")) || !gone && (exit.Code(err) != exit.Later || out.Len() > 0) {
			t.Errorf("typed %q: %v, %s", typed, err, out)
		}
	}
}

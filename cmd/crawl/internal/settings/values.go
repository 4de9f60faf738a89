package settings

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// ContentNames returns the values of --output that are exports of the archive.
func ContentNames() []string { return []string{"text", "markdown"} }

// An outputs is the value of the setting output: that of the crawl, and ContentNames.
type outputs struct {
	flag.Value // of the crawl
	f          *Flags
}

func (outputs) IsList() bool { return true }

func (outputs) Type() string { return "names" }

func (o outputs) Choices() []string {
	all := setting.Setting{Value: o.Value}.Choices()
	return slices.Insert(all, len(all)-1, ContentNames()...) // before the last choice, none
}

func (o outputs) String() string {
	return strings.Join(append([]string{o.Value.String()}, o.f.Contents...), ",")
}

func (o outputs) Set(text string) error {
	var contents, others []string
	for _, name := range strings.Split(text, ",") {
		if slices.Contains(ContentNames(), name) {
			contents = append(contents, name)
		} else {
			others = append(others, name)
		}
	}
	out := &o.f.Crawl.Output
	none := slices.Contains(others, "none")
	if none && len(contents)+len(o.f.Contents) > 0 || len(contents) > 0 && *out != nil && len(*out) == 0 {
		return errors.New("none goes with nothing else")
	}
	if i := slices.IndexFunc(others, func(name string) bool { return !slices.Contains(o.Choices(), name) }); i >= 0 && text != "" {
		return fmt.Errorf("%q is not one of %s", others[i], strings.Join(o.Choices(), ", "))
	}
	if len(others) > 0 {
		if err := o.Value.Set(strings.Join(others, ",")); err != nil {
			return err
		}
	}
	for _, name := range contents {
		if !slices.Contains(o.f.Contents, name) {
			o.f.Contents = append(o.f.Contents, name)
		}
	}
	for _, source := range []crawler.Output{crawler.OutputWARC, crawler.OutputPages} { // contents are made from both
		if len(contents) > 0 && !slices.Contains(*out, source) {
			*out = append(*out, source)
		}
	}
	return nil
}

// A moment is a time as RFC 3339 writes it.
type moment struct{ to *time.Time }

func (moment) Type() string { return "time" }

func (m moment) String() string {
	if m.to.IsZero() {
		return ""
	}
	return m.to.Format(time.RFC3339)
}

func (m moment) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is not a time as 2026-11-23T03:00:00Z", text)
	}
	*m.to = at
	return nil
}

// A word is a text setting. If only a few values are valid, known lists them.
type word struct {
	to    *string
	of    string
	known []string
}

// Text returns a setting that may be any text.
func Text(to *string) flag.Value { return word{to, "text", nil} }

func (w word) String() string { return *w.to }

func (w word) Type() string {
	if w.known != nil {
		return strings.Join(w.known, "|")
	}
	return w.of
}

func (w word) Choices() []string {
	if w.known == nil && strings.Contains(w.of, "|") {
		return strings.Split(w.of, "|")
	}
	return w.known
}

func (w word) Set(text string) error {
	if w.known != nil && !slices.Contains(w.known, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(w.known, ", "))
	}
	*w.to = text
	return nil
}

type words struct {
	to *[]string
	of string
}

func (w words) String() string { return strings.Join(*w.to, " ") }

func (w words) Type() string { return w.of }

func (words) IsList() bool { return true }

func (w words) Set(text string) error {
	*w.to = append(*w.to, text)
	return nil
}

type toggle struct{ to *bool }

// YesNo returns a setting that is yes or no.
func YesNo(to *bool) flag.Value { return toggle{to} }

func (toggle) Type() string { return "no|yes" }

func (toggle) Choices() []string { return []string{"no", "yes"} }

func (toggle) IsBoolFlag() bool { return true }

func (t toggle) String() string {
	if *t.to {
		return "yes"
	}
	return "no"
}

func (t toggle) Set(text string) error {
	switch text {
	case "yes", "true", "1":
		*t.to = true
	case "no", "false", "0":
		*t.to = false
	default:
		return fmt.Errorf("%q is not one of no, yes", text)
	}
	return nil
}

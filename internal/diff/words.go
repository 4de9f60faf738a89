package diff

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// MomentForm is the format of times in texts for readers.
const MomentForm = "2006-01-02 15:04Z"

func moment(at time.Time) string { return at.UTC().Format(MomentForm) }

// Words returns details about a change in words, or "" if there are none.
func (c *Change) Words() string {
	was, is := fateInWords(c.Was), fateInWords(c.Is)
	switch c.Kind {
	case New:
		return is + from(c.Is.Via)
	case Modified:
		return map[TextState]string{TextDiffers: "another text", TextUnknown: "the text was not compared"}[c.Text]
	case SameText:
		return ""
	case Moved, Redirected:
		return moved(c)
	case LeftOut:
		return "was " + was + from(c.Was.Via)
	}
	return is + ", was " + was
}

func from(via string) string {
	if via == "" {
		return ", a seed"
	}
	return ", found on " + via
}

// fateInWords returns the result of a URL in one crawl, in words.
func fateInWords(s State) string {
	switch {
	case s.Fate == frontier.Undecided:
		return "not known"
	case s.Status != 0:
		return fmt.Sprint(s.Status)
	case s.Reason != "":
		return s.Fate.String() + " (" + s.Reason + ")"
	}
	return s.Fate.String()
}

// moved returns in words to which URL c redirects now, and what is known about that URL.
func moved(c *Change) string {
	text := fmt.Sprintf("%d to %s", c.Is.Status, cmp.Or(c.Is.Location, "a place that was not kept"))
	t := c.Target
	switch {
	case t == nil:
		return text
	case t.Fate == frontier.Undecided:
		return text + ", which the crawl does not know"
	case t.SameBody:
		return text + ": the same page"
	case t.Text == TextSame:
		return text + ": a page with the same text"
	case t.Text == TextDiffers:
		return text + ": another page"
	case t.Status != 0:
		return fmt.Sprintf("%s: %d there", text, t.Status)
	}
	return text + ": " + t.Fate.String()
}

// String returns the line that decides or, if no line does, the reason.
func (d Decision) String() string {
	if d.Line == 0 {
		return d.Rule
	}
	return fmt.Sprintf("line %d: %s", d.Line, d.Rule)
}

// outcomeWords has the words for the outcomes.
var outcomeWords = map[Outcome]string{
	File: "a file", None: "none, which allows everything", Forbidden: "not to be read, which allows nothing",
	Unreachable: "no answer",
}

// Words describes a copy of robots.txt in words.
func (c *Copy) Words() string {
	text := outcomeWords[c.Outcome]
	if c.Status != 0 && c.Outcome != File {
		text += fmt.Sprintf(" (%d)", c.Status)
	}
	if c.Failure != "" {
		text += " (" + c.Failure + ")"
	}
	text += " of " + moment(c.Fetched)
	if !c.Copied.IsZero() {
		text += ", with the copy of " + moment(c.Copied)
	}
	if c.Delay > 0 {
		text += fmt.Sprintf(", a request in %gs", c.Delay)
	}
	if len(c.Signals) > 0 {
		text += ", " + strings.Join(c.Signals, ", ")
	}
	return text
}

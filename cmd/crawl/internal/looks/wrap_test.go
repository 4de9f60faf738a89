package looks

import (
	"testing"
)

func TestWrap(t *testing.T) {
	const line = "label        one two three-and-four five"
	for width, want := range map[int]string{
		0: line, 80: line, len(line): line, 10: line,
		27: "label        one two\n             three-and-four\n             five",
		24: "label        one two\n  three-and-four five",               // no room after the indent
		20: "label        one two\n  three-and-four\n             five", // a line may be full: no blank follows it
		5:  line,
	} {
		if got := Wrap(line, 13, width); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	if got, want := Wrap("    12345678 9", 2, 10), "  12345678\n  9"; got != want {
		t.Errorf("a first word without room after its blanks: %q, want %q", got, want)
	}
}

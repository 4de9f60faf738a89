package guess

import (
	"testing"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"--delay", "--depth", "--domain-delay", "--max-host-pages", "--dir"}
	for name, want := range map[string]string{
		"--delya": "--delay", "--Delay": "--delay", "--dely": "--delay", "--max-host-page": "--max-host-pages", "--max": "--max-host-pages",
		"--user-agent": "", "--x": "", "--dirs": "--dir",
	} {
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got := DidYouMean(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

package guess

import (
	"testing"
)

func TestDidYouMean(t *testing.T) {
	known := []string{"--delay", "--depth", "--domain-delay", "--max-bytes", "--max-host-pages", "--dir", "--limit"}
	for name, want := range map[string]string{
		"--delya": "--delay", "--Delay": "--delay", "--dely": "--delay", "--max-host-page": "--max-host-pages", "--max-host": "--max-host-pages",
		"--max-pages": "--limit", "--max_pages": "--limit", "max-pages": "", "--wait": "--delay", "--level": "--depth", "--threads": "",
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

// A name of another program has one meaning here, and is not a name of ours.
func TestNamesOfOthersAreClear(t *testing.T) {
	of := map[string]string{}
	for ours, theirs := range others {
		for _, name := range theirs {
			if other := of[name]; other != "" {
				t.Errorf("%s means %s and %s", name, other, ours)
			}
			if others[name] != nil {
				t.Errorf("%s is a name of ours", name)
			}
			of[name] = ours
		}
	}
}

package settings

import (
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// Words of a list are read regardless of case and blanks. The error for an invalid word
// suggests the nearest one.
func TestEachWordOfAListIsOneThatIsKnown(t *testing.T) {
	known := []string{"gone", "moved"}
	given := []string{" Gone", "MOVED "}
	if err := EachOf("list", "list", given, known); err != nil || !slices.Equal(given, known) {
		t.Errorf("%q, %v", given, err)
	}
	for word, want := range map[string]string{
		"Gon":       `--fate: "Gon" is no fate: did you mean gone? there are gone, moved`,
		"something": `--fate: "something" is no fate: there are gone, moved`,
	} {
		err := EachOf("fate", "fate", []string{"gone", word}, known)
		if err == nil || err.Error() != want || exit.Code(err) != exit.Usage {
			t.Errorf("%q: %v", word, err)
		}
	}
}

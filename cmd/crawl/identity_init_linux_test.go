package main

import (
	"os"
	"strings"
	"testing"
)

// On a terminal, init prompts for missing values, again if an answer is not valid.
func TestIdentityInitAsks(t *testing.T) {
	path := ownHome(t)
	term := newTerminal(t, 80, "my bot\nmybot\n")
	root := (&program{in: term.File, err: term.File}).root()
	root.SetArgs([]string{"identity", "init", "--contact", "https://example.org/mybot"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	text := term.text()
	if strings.Count(text, "Name of the crawler") != 2 || strings.Contains(text, "Contact (") || !strings.Contains(text, "Kept in") {
		t.Errorf("asked: %s", text)
	}
	kept, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(kept), `"name": "mybot"`) || !strings.Contains(string(kept), "https://example.org/mybot") {
		t.Errorf("%s, %v", kept, err)
	}
}

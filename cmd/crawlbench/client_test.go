package main

import (
	"strings"
	"testing"
)

// Each client makes its requests, and has a row.
func TestClientsAreMeasured(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"client", "--rounds", "1", "--requests", "300", "--hosts", "7", "--callers", "3"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, kind := range clientKinds {
		if !strings.Contains(out.String(), "| "+kind+" |") {
			t.Errorf("there is no row of %s:\n%s", kind, out.String())
		}
	}
}

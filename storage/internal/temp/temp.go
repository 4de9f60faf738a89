// Package temp makes temporary files that a kill does not leave behind.
package temp

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// name is one that nobody else has: kind says in the directory what the file is
// for, where it can be seen there.
func name(dir, kind string) string {
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, kind+"-"+rand.Text()+".tmp")
}

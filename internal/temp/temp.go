// Package temp creates temporary files that do not survive a kill.
package temp

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// name returns a unique name; kind says what the file is for, on systems where the name
// stays visible.
func name(dir, kind string) string {
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, kind+"-"+rand.Text()+".tmp")
}

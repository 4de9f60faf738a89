// Package temp creates temporary files that are removed even if the process is killed.
package temp

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// name returns a unique path of a new file in dir. kind is the beginning of its name, which
// says what the file is for on systems where the name stays visible.
func name(dir, kind string) string {
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, kind+"-"+rand.Text()+".tmp")
}

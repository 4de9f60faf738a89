//go:build unix

package postgres

import (
	"time"

	"github.com/permesso-crawler/permesso/storage"
)

// SetLease sets the lease of a node.
func SetLease(s storage.State, lease time.Duration) { s.(*database).lease = lease }

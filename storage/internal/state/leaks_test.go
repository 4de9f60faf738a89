package state

import (
	"testing"

	"github.com/permesso-crawler/permesso/internal/testtemp"
	"go.uber.org/goleak"
)

// TestMain fails where a test has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(testtemp.M{M: m}) }

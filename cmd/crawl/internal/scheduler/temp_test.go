package scheduler

import (
	"os"
	"testing"

	"github.com/permesso-crawler/permesso/internal/testtemp"
)

func TestMain(m *testing.M) { os.Exit(testtemp.M{M: m}.Run()) }

package state

// Exported for the tests of whole crawls.
var (
	Replay   = replay
	Checks   = checked
	DumpOf   = dump
	SameDump = same
)

type Tape = tape

func (l *tape) Groups() [][]byte { return l.groups }

const TestSeed = testSeed

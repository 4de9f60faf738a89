package state

// What tests of a whole crawl need of the tests in here.
var (
	Replay   = replay
	Checks   = checked
	DumpOf   = dump
	SameDump = same
)

type Tape = tape

func (l *tape) Groups() [][]byte { return l.groups }

const TestSeed = testSeed

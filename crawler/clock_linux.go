package crawler

import (
	"os"
	"strings"
	"syscall"
)

// clockSource is where Linux says what its clock goes by.
const clockSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// What adjtimex(2) says of a clock that nothing keeps right.
const (
	timeError = 5    // TIME_ERROR, its state
	unsynced  = 0x40 // STA_UNSYNC, a flag of its status
)

// machineClock says what the machine's clock goes by, and whether it is synchronised;
// empty and nil where that cannot be read.
func machineClock() (source string, synchronised *bool) {
	if raw, err := os.ReadFile(clockSource); err == nil {
		source = strings.TrimSpace(string(raw))
	}
	var t syscall.Timex // modes 0: nothing is set
	if state, err := syscall.Adjtimex(&t); err == nil {
		right := state != timeError && t.Status&unsynced == 0
		synchronised = &right
	}
	return source, synchronised
}

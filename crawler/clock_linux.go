package crawler

import (
	"os"
	"strings"
	"syscall"
)

// clockSource is the file with the name of the hardware that Linux reads its clock from, such
// as tsc.
const clockSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// Results of adjtimex(2) for a clock that is not synchronised.
const (
	timeError = 5    // TIME_ERROR, its state
	unsynced  = 0x40 // STA_UNSYNC, a flag of its status
)

// machineClock returns the name of the hardware that the machine's clock is read from, or "" if
// it is unknown, and whether the clock is synchronised, or nil if that is unknown.
func machineClock() (source string, synchronised *bool) {
	if raw, err := os.ReadFile(clockSource); err == nil {
		source = strings.TrimSpace(string(raw))
	}
	var t syscall.Timex // Modes is 0: Adjtimex changes nothing
	if state, err := syscall.Adjtimex(&t); err == nil {
		right := state != timeError && t.Status&unsynced == 0
		synchronised = &right
	}
	return source, synchronised
}

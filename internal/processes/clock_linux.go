package processes

import (
	"os"
	"strings"
	"syscall"
)

// clockSource is the file in which Linux names the hardware from which it reads the time, such
// as tsc.
const clockSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// The values in the result of adjtimex(2) that say that the clock is not synchronised.
const (
	timeError = 5    // TIME_ERROR, a state of the clock
	unsynced  = 0x40 // STA_UNSYNC, a flag in the status
)

// machineClock describes the machine's clock. source is the name of the hardware from which the
// time is read, or "" if it is not known. synchronised is nil if it is not known whether the
// clock is synchronised.
func machineClock() (source string, synchronised *bool) {
	if raw, err := os.ReadFile(clockSource); err == nil {
		source = strings.TrimSpace(string(raw))
	}
	var t syscall.Timex // Modes is 0, so Adjtimex changes nothing
	if state, err := syscall.Adjtimex(&t); err == nil {
		right := state != timeError && t.Status&unsynced == 0
		synchronised = &right
	}
	return source, synchronised
}

package processes

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
	timeError = 5    // TIME_ERROR, the state of such a clock
	unsynced  = 0x40 // STA_UNSYNC, a flag in the status of such a clock
)

// machineClock describes the machine's clock. source is the name of the hardware that the clock
// is read from, or "" if that is unknown. synchronised is nil if it is unknown whether the
// clock is synchronised.
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

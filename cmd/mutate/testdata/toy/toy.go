// Package toy has mutants of every fate.
package toy

import "errors"

// Clamp returns n, at least low. At n == low both branches return the same.
func Clamp(n, low int) int {
	if n < low {
		return low
	}
	return n
}

// Sum adds up to n.
func Sum(n int) (sum int) {
	for n > 0 {
		sum += n
		n--
	}
	return
}

// Check is not tested at all.
func Check(s string) error {
	var err error
	if s == "" {
		err = errors.New("empty")
	}
	return err
}

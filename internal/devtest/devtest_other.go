//go:build !linux

// Package devtest makes devices for tests.
package devtest

import "testing"

// Device skips the test, because it is implemented on Linux only.
func Device(t testing.TB, name string) string {
	t.Helper()
	t.Skip("devices for tests are made on Linux only")
	return ""
}

package setting

// Limits returns the names of the settings that are limits of a run.
func Limits() []string {
	return []string{"limit", "max-bytes", "max-time", "rate", "patience", "concurrency"}
}

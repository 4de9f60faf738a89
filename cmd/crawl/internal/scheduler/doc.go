// Package scheduler starts the runs of many series when they fall due: a loop of one
// goroutine. It keeps nothing that a kill could destroy. What to do next follows from the
// files in the directories of the series, which it reads again each time, at least once a
// minute, because clocks are set and machines sleep.
package scheduler

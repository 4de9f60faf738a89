// Package scheduler starts the runs of many series when they fall due. It is a loop in
// one goroutine. It keeps nothing that a kill could destroy: what to do next follows from
// the files in the directories of the series. It reads these files again at each step, at
// least once a minute, because clocks are set and machines sleep.
package scheduler

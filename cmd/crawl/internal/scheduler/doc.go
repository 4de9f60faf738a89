// Package scheduler starts the runs of many series of crawls when they are due. It is a loop in
// one goroutine. It keeps nothing that a kill could destroy, because it learns what to do next
// from the files in the directories of the series. It reads these files again at each step, at
// least once a minute, because clocks are set and machines sleep.
package scheduler

// Package scheduler starts the runs of many series when they fall due: a loop of one
// goroutine, which keeps nothing that a kill could take from it. What is to be done next
// follows from what lies in the directories of the series, and is found out anew each
// time that it looks: at the latest after a minute, as clocks are set and machines
// sleep.
package scheduler

// Package house has the tests of the repository as a whole: that its documents say what the code
// does, that packages and files use each other in the drawn directions only, and that what is
// exported is listed.
//
// Each test changes to the root of the repository first, because it names files from there. It
// does so by T.Chdir: the go command then knows which files a cached result depends on.
package house

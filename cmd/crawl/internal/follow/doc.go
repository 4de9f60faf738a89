// Package follow looks at a crawl again and again, for a page about it. It asks a running crawl
// for its status through the control socket, and reads the lines that are new in crawl.log; it
// never opens the state of a running crawl. Of a crawl that no process runs, it reads the status
// and the report, once until the files change.
package follow

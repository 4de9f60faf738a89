// Package content finds the main content of a page, as text and as Markdown.
//
// Where to start:
//
//   - [Text] and [Markdown] take a page of a crawl, as a [crawler.Handler] gets it.
//   - [Of] takes the body of any answer and its Content-Type. Its result, a [Content], also has
//     the title and the language of the page. [Options] say whether the whole page is wanted.
//
// The main content is found by go-readability, a port of Mozilla's Readability, and converted by
// html-to-markdown. On a page with a list of links, Readability finds the menu or the footer. So
// if it finds less than 500 characters and less than half of the page, the main content is what
// the page declares: its only element with the name or the role main. If there is no such
// element, or more than one, it is the whole page. Only this package imports these libraries, so
// a program that does not import this package does not contain them.
//
// The functions may be called from several goroutines, but a [crawler.Page] must be used by one
// goroutine at a time.
//
// # Limits
//
// Pages come from strangers, so the work for one page is limited. If a page exceeds a limit, the
// result is the text of the whole page, and [Content.Limited] says which limit was exceeded. Of
// these limits, only a body of more than 32 MiB is an error. The whole text is read in one pass,
// in linear time and for any nesting. The main content and Markdown need a tree: at most 8 MiB
// of markup, at most 100,000 elements, and at most 512 elements within one another. A panic of
// one of the libraries also leads to the whole text.
//
// # Errors
//
// An error that wraps [ErrNoText] means that the answer is no text, such as an image: skip it.
// The only other error is that of a body of more than 32 MiB. A page without a main content is
// no error: [Content.Main] is then false, and the text is that of the whole page.
//
// # Sources
//
// The main element is that of HTML, section 4.4.14, and the role that of WAI-ARIA 1.2. Markdown is
// CommonMark, with the tables of GitHub Flavored Markdown. The encoding of a body is
// found as [extract.Decode] says.
package content

// Reading the source: content.go has the functions. plain.go reads the whole text. tree.go parses
// a page and prepares its tree, and markdown.go converts the tree.

// Package extract finds links and page directives in the answers of servers. It works on bytes
// alone and fetches nothing.
//
//	body, charset := extract.Decode(answer, contentType) // as UTF-8
//	doc, ok := extract.Read(body, u, mediaType, extract.Options{Charset: charset})
//	for _, link := range doc.Links { ... }
//
// Where to start:
//
//   - To read an answer of any kind, call [Decode], then [Read]. [HTML], [CSS] and [Feed] each
//     read one kind. [Reads] and [IsHTML] say what a media type is read as.
//   - To read a sitemap entry by entry, call [Sitemap].
//   - To read the header of an answer, call [LinkHeader] and [HeaderLicenses], or
//     [Document.AddHeader] to add its links to those of the document.
//   - To resolve a reference that a program has found in a page, call [Document.Resolve].
//   - To compare the text of two pages, call [TextDigest].
//
// [Options] choose what is found besides links. Links of HTML are found in one pass over the
// tags, without a tree. So a document that is nested too deep for a parser loses no link. The
// links are those of the tree that a browser without scripts builds. The tests compare them with
// x/net/html. Only attributes with links are decoded.
//
// # Links of HTML
//
// HTML always finds these targets of a document, with [frontier.HopLink] (the numbers are
// sections of the HTML Standard):
//
//   - href of a and area (4.6.2), and of link by its rel (4.6.7);
//   - href and xlink:href of a in SVG;
//   - src of iframe and frame (4.8.5, 16.3), and data-src and data-lazy-src of
//     iframe; src of embed and data of object whose type is HTML (4.8.6, 4.8.7);
//   - meta refresh (4.2.5.3);
//   - cite of blockquote, q, ins and del (4.4.4, 4.5.7, 4.7), longdesc of img,
//     iframe and frame (16.2);
//   - og:url of meta, and url in JSON-LD (scripts that are data blocks, 4.12.1);
//   - action of form, with Options.Forms (4.10.3).
//
// With Options.Embeds it also finds the parts that a page is composed of, with
// [frontier.HopEmbed]:
//
//   - src of img, source, script, video, audio, track, embed and of input with
//     type=image, srcset of img and source, poster of video, data of object
//     (4.8, 4.10.5, 4.12.1);
//   - href and imagesrcset of link with rel stylesheet, icon, apple-touch-icon,
//     mask-icon, manifest, preload or modulepreload (4.6.7);
//   - href and xlink:href of image, feImage, use and script in SVG;
//   - url(), image-set() and @import of style and of style attributes (4.2.6, 3.2.6),
//     in SVG and MathML, too, and url() of mask, clip-path, filter and the other
//     attributes of SVG that are properties (SVG 2, section 6.6);
//   - style sheets that XML names before its first element (Associating Style Sheets
//     with XML documents);
//   - background of body, table, thead, tbody, tfoot, tr, td and th (15.3);
//   - og:image of meta, and url of an ImageObject in JSON-LD;
//   - resources that scripts load late, by the attributes that lazysizes, lozad,
//     vanilla-lazyload, jQuery's lazyload and the plugins of WordPress read: data-src,
//     data-srcset, data-original, data-lazy-src, data-lazy-srcset and data-poster of the
//     elements above, and data-bg and data-background-image of any element, whose value is a
//     URL, or url() as in a style sheet.
//
// A document in the srcdoc of an iframe (4.8.5) is read as a part of the document around it.
//
// The content of noscript is read as elements, in the head and in the body, as in a browser
// without scripts (4.12.2). The content of noframes is read as elements, too. HTML also reads
// elements that a browser drops: a frame outside of a frameset, a part of a table outside of a
// table, a second body, and a form in a form. It leaves out empty references and data: URLs of
// embedded resources.
//
// # Limits and errors
//
// A page can be made to have more links than a crawl can store, so a [Document] has at most
// [MaxLinks], with at most 4 MiB of URLs, and then its field Cut is set. A sitemap may have 50,000
// locations and 50 MiB (sitemaps.org).
//
// The readers do not fail: they read what they can of a damaged document. [Sitemap] yields an
// error at most once, as its last value; the entries before it are valid. Resolve
// returns a [*frontier.URLError].
//
// # Concurrency
//
// The functions may be called from several goroutines, if they do not share Options.Room. A
// Document may be read by several goroutines as long as none changes it.
//
// # Sources
//
// HTML and the encodings of documents are those of the HTML Standard (https://html.spec.whatwg.org/),
// style sheets those of CSS Syntax Level 3, Link fields those of RFC 8288, canonical URLs those of
// RFC 6596, feeds those of RSS 2.0, RFC 4287 and JSON Feed, and sitemaps those of
// https://www.sitemaps.org/protocol.html. The comments of the functions name the sections.
package extract

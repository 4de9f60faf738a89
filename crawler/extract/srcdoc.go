package extract

// maxWithin is the maximum number of documents around a document in the srcdoc of an iframe. A
// nested document is read once more for each document around it.
const maxWithin = 3

// inner adds the links of the document in the srcdoc of the iframe whose tag was read. References
// in that document are relative to the base of the document around it (HTML, section 7.5.1). A
// document with a base element of its own is left out.
func (s *scanner) inner() {
	if !s.z.has(srcdocName) || s.within == maxWithin {
		return
	}
	d := scan([]byte(s.z.value(srcdocName)), "text/html", s.opts, s.within+1)
	defer d.release()
	if d.hasBase {
		return
	}
	for _, r := range d.refs {
		if !s.room() {
			return
		}
		raw, said := d.text[r.raw.start:r.raw.end], d.said[r.rel.start:r.rel.end+int(r.said)]
		r.raw = span{len(s.text), len(s.text) + len(raw)}
		r.rel = span{len(s.said), len(s.said) + r.rel.end - r.rel.start}
		s.text, s.said = append(s.text, raw...), append(s.said, said...)
		s.refs = append(s.refs, r)
	}
	s.found.Cut = s.found.Cut || d.found.Cut
}

package extract

// maxWithin is how deep documents may stand in the srcdoc of others: each is read
// once more for each that it stands in.
const maxWithin = 3

// inner takes the document that stands in the srcdoc of the iframe whose tag was
// read. Its references are relative to the base of the document around it (HTML,
// section 7.5.1), unless it has a base of its own: then it is left out.
func (s *scanner) inner() {
	if !s.z.has(srcdocName) || s.within == maxWithin {
		return
	}
	d := scan([]byte(s.z.value(srcdocName)), "text/html", s.opts, s.within+1)
	if d.hasBase {
		return
	}
	text := d.text.String()
	for _, r := range d.refs {
		if !s.room() {
			return
		}
		keep := func(part span) span {
			start := s.text.Len()
			s.text.WriteString(text[part.start:part.end])
			return span{start, s.text.Len()}
		}
		rel := r.rel
		r.raw = keep(r.raw)
		r.rel = keep(span{rel.start, rel.end + int(r.said)})
		r.rel.end -= int(r.said)
		s.refs = append(s.refs, r)
	}
	s.found.Cut = s.found.Cut || d.found.Cut
}

package looks

import (
	"math"
	"slices"
	"strings"
)

// A Table has rows of cells in columns. Each column but the last is as wide as its widest cell;
// the last one takes the rest of the line.
type Table struct {
	Rows   [][]Text
	Labels []string // a label for each of the first rows, in the indent or, if that is too narrow, on a line above
	Right  []int    // columns that are aligned at their right
	Indent int      // columns before each row
	OneRow bool     // cut each row to one line, and do not break the last cell into more
}

// The least width of the last column, and the blanks between two columns. If there is less room,
// the cells of a row are one below the other.
const (
	leastLast = 20
	between   = 2
)

// widestName is the largest width of a column without a terminal.
const widestName = 60

// Lines returns the lines of the table on a terminal of the given width; 0 means that there is
// no terminal.
func (t Table) Lines(width int) (lines []Text) {
	widths, last := t.widths(math.MaxInt)
	for _, row := range t.Rows {
		if last+row[len(row)-1].Width() <= width {
			continue
		}
		most := widestName
		if width > 0 {
			most = max((width-t.Indent)/2, 1)
		}
		if t.OneRow {
			most = max((width-t.Indent)*2/5, 1)
		}
		widths, last = t.widths(most)
		break
	}
	for i, row := range t.Rows {
		label := ""
		if i < len(t.Labels) {
			label = t.Labels[i]
		}
		if label != "" && Width(label) >= t.Indent {
			lines, label = append(lines, Line(label)), ""
		}
		line := t.row(label, row, widths)
		switch {
		case t.OneRow:
			lines = append(lines, line.Fit(width))
		case width > 0 && last+leastLast > width && line.Width() > width:
			lines = append(lines, t.stacked(label, row, width)...)
		default:
			lines = append(lines, t.wide(label, row, widths, last, width)...)
		}
	}
	return lines
}

// widths returns the width of each column but the last, and the sum with the blanks before the
// last column. A cell wider than most does not count.
func (t Table) widths(most int) (widths []int, last int) {
	last = t.Indent
	for _, row := range t.Rows {
		for i, cell := range row {
			if i == len(row)-1 {
				break
			}
			for len(widths) <= i {
				widths = append(widths, 0)
			}
			if n := cell.Width(); n <= most {
				widths[i] = max(widths[i], n)
			} else if t.OneRow {
				widths[i] = max(widths[i], most)
			}
		}
	}
	for _, n := range widths {
		last += n + between
	}
	return widths, last
}

// margin returns what is before a row.
func (t Table) margin(label string) Text { return Line(label).Padded(t.Indent, false) }

// row returns the cells of a row one after the other.
func (t Table) row(label string, row []Text, widths []int) Text {
	line := t.margin(label)
	for i, cell := range row {
		if i == len(row)-1 {
			return append(line, cell...)
		}
		if t.OneRow {
			cell = cell.Fit(widths[i])
		}
		line = append(line, cell.Padded(widths[i], slices.Contains(t.Right, i))...)
		line = append(line, Span{Plain, strings.Repeat(" ", between)})
	}
	return line
}

// wide returns the lines of a row. If its first cell is wider than the column, the others are on
// the next line, except without a terminal, where each row is one line.
func (t Table) wide(label string, row []Text, widths []int, last, width int) []Text {
	if width > 0 && len(row) > 1 && row[0].Width() > widths[0] {
		rest := append([]Text{nil}, row[1:]...)
		first := append(t.margin(label), row[0]...).Wrap(t.Indent+between, width)
		return append(first, t.wide("", rest, widths, last, width)...)
	}
	return t.row(label, row, widths).Wrap(last, width)
}

// stacked returns the lines of a row with its first cell on a line of its own.
func (t Table) stacked(label string, row []Text, width int) []Text {
	line := append(t.margin(label), row[0]...)
	if len(row) > 1 {
		line = append(line, Span{Plain, "\n" + strings.Repeat(" ", t.Indent+between)})
	}
	for i, cell := range row[1:] {
		if i > 0 {
			line = append(line, Span{Plain, ", "})
		}
		line = append(line, cell...)
	}
	return line.Wrap(t.Indent+between, width)
}

package storage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Pages and links are read line by line, without bodies; other lines are counted.
func TestPagesAndLinksAreReadPastWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadPages(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no pages: %v", err)
	}
	if _, err := ReadLinks(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no links: %v", err)
	}
	for name, text := range map[string]string{
		PagesFile: `{"url":"http://a.test/","title":"A","body":"long"}` + "\n[]\n{}\n" + `{"url":"http://a.test/b"}` + "\n" + `{"url":"http://a.test/to`,
		LinksFile: `{"from":"http://a.test/","to":"http://a.test/b"}` + "\n\n" + `{"from":"http://a.test/"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	other, err := ReadPages(dir, func(p *PageRecord) error {
		got = append(got, p.URL+p.Title+string(p.Body))
		return nil
	})
	if want := []string{"http://a.test/A", "http://a.test/b"}; err != nil || other != 3 || !slices.Equal(got, want) {
		t.Errorf("pages %q, %d others, %v", got, other, err)
	}
	got = nil
	other, err = ReadLinks(dir, func(l *LinkRecord) error {
		got = append(got, l.From+" "+l.To)
		return nil
	})
	if want := []string{"http://a.test/ http://a.test/b"}; err != nil || other != 2 || !slices.Equal(got, want) {
		t.Errorf("links %q, %d others, %v", got, other, err)
	}
	if _, err := ReadPages(dir, func(*PageRecord) error { return io.ErrClosedPipe }); err != io.ErrClosedPipe {
		t.Errorf("stopped: %v", err)
	}
}

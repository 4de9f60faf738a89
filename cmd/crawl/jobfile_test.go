package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/timetable"
)

func nothingGiven(string) bool { return false }

// Each template is a valid job file, and so is what --all adds to it, with its comment
// marks removed.
func TestTemplatesAreJobFiles(t *testing.T) {
	for _, name := range jobTemplates {
		text, err := jobTemplate(name, true)
		if err != nil {
			t.Fatal(err)
		}
		plain, all, _ := strings.Cut(text, "\n# All settings")
		for _, text := range []string{plain, "seeds: [https://example.org/]\n" + uncommented(all)} {
			file := filepath.Join(t.TempDir(), "job.yaml")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			f := settings.Usual()
			f.Job = file
			seeds, _, err := (&program{}).job(f, nothingGiven, nil)
			if err != nil || len(seeds) != 1 {
				t.Errorf("%s: %v, %d seeds of\n%s", name, err, len(seeds), text)
			}
		}
	}
}

// The job file in the documentation is valid.
func TestTheDocumentedJobFileIsOne(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guide/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "```yaml\n")
	text, _, ok := strings.Cut(text, "```")
	dir := t.TempDir()
	for name, content := range map[string]string{"job.yaml": text, "more-seeds.txt": "https://example.com/\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := settings.Usual()
	f.Job = filepath.Join(dir, "job.yaml")
	seeds, _, err := (&program{}).job(f, nothingGiven, nil)
	if !ok || err != nil || len(seeds) != 2 || f.Crawl.Site("https://www.slow.example").Delay != 10*time.Second {
		t.Errorf("%v: %q", err, seeds)
	}
}

// The schedules in the documentation and in the templates are valid.
func TestTheDocumentedScheduleIsOne(t *testing.T) {
	texts := map[string]string{"docs/guide/schedules.md": strings.Join(fenced(document(t, "docs/guide/schedules.md"), "yaml"), "")}
	for _, name := range jobTemplates {
		text, err := jobTemplate(name, false)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = strings.Replace(text, "# schedule: ", "schedule: ", 1)
	}
	for name, text := range texts {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := timetable.ScheduleOf(dir)
		if err != nil || s.Spec().Every != "0 3 * * MON" || s.Spec().Jitter != 30*time.Minute {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// uncommented returns the lines that set something.
func uncommented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
		if s := settings.Usual().Setting(name); ok && s.Name != "" && value == asYAML(s)+"\n" {
			b.WriteString(name + ": " + value)
		}
	}
	return b.String()
}

// Reading any job file ends with settings or with an error for the user.
func FuzzJobFile(f *testing.F) {
	for _, name := range jobTemplates {
		text, err := jobTemplate(name, false)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("a: &x [*x]\nseeds: *x\n")
	f.Add("? [a]\n: b\nidentity: {<<: {name: x}}\ndelay: !!binary aGk=\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		flags := settings.Usual()
		flags.Job = file
		_, _, err := (&program{err: &strings.Builder{}}).job(flags, nothingGiven, nil)
		if err != nil && exit.Code(err) != exit.Usage {
			t.Errorf("%v", err)
		}
	})
}

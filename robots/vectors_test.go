package robots

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
)

type vector struct {
	ID, Dialect, Robots, Agent, URL, Source, Note string
	B64                                           *string `json:"robots_b64"`
	Allow                                         bool
}

func (v *vector) body(t testing.TB) []byte {
	if v.B64 == nil {
		return []byte(v.Robots)
	}
	b, err := base64.StdEncoding.DecodeString(*v.B64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readVectors(t testing.TB) []vector {
	f, err := os.Open("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []vector
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var v vector
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// Each vector gives its verdict in its dialect, with and without the site of the file.
func TestVectors(t *testing.T) {
	count := map[Dialect]int{}
	for _, v := range readVectors(t) {
		d, err := ParseDialect(v.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		target, err := Target(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		site, err := Locate(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*File{Parse(v.body(t), d), ParseFor(site, v.body(t), d)} {
			if got := f.Group(v.Agent).Match(target); got.Allowed() != v.Allow {
				t.Errorf("%s: agent %q, URL %.100q: %v by line %d (%v), want allow=%v\n%.500s\n%s: %s",
					v.ID, v.Agent, v.URL, got.Access, got.Rule.Line, got.Reason, v.Allow, v.Robots, v.Source, v.Note)
			}
		}
		count[d]++
	}
	if len(count) != 3 {
		t.Errorf("dialects: %v", count)
	}
}

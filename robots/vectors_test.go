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

func TestVectors(t *testing.T) {
	count := map[string]int{}
	for _, v := range readVectors(t) {
		d, err := ParseDialect(v.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		target, err := Target(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		got := Parse(v.body(t), d).Group(v.Agent).Match(target)
		if got.Allowed() != v.Allow {
			t.Errorf("%s: agent %q, URL %q: %v (%v, line %d), want allow=%v\n%s\n%s: %s", v.ID, v.Agent, v.URL, got.Access, got.Reason, got.Rule.Line, v.Allow, v.Robots[:min(500, len(v.Robots))], v.Source, v.Note)
		}
		count[v.Dialect]++
	}
	t.Log(count)
}

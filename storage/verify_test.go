package storage

import (
	"fmt"
	"testing"
	"time"
)

func TestFactsKeepTheirPlaces(t *testing.T) {
	want := fact{key: "url", from: ofLog, at: 42, value: "200 a\x00b"}
	if got := parseFact([]byte("url\x00" + string(rune(ofLog)) + "\x0042\x00200 a\x00b")); got != want {
		t.Errorf("%+v", got)
	}
}

// Millions of pages may repeat one answer, that of a page that is not there.
func TestWhatRepeatsAnAnswerIsNotHeld(t *testing.T) {
	for what, absent := range map[string]map[string]int{"an answer": {}, "a file that was moved": {"x.warc.gz": 1}} {
		var problems []string
		v := &verifier{Check: Check{Problem: func(err error) { problems = append(problems, err.Error()) }}, facts: newFacts(t.TempDir()), absent: absent}
		key := referredKey("http://a.example/none", time.Unix(1, 0))
		if len(absent) == 0 {
			v.know(key, ofRecord, 0, "x.warc.gz")
		}
		for i := range int64(1000) {
			v.know(key, ofRevisit, i, "x.warc.gz")
		}
		c, most := &comparer{v: v}, 0
		_, err := v.facts.sorter.WriteTo(&lineWriter{each: func(line []byte) error {
			err := c.add(line)
			most = max(most, len(c.all))
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if c.group(); most > 1 || len(problems) > 0 {
			t.Errorf("%s: %d are held, %.100q", what, most, fmt.Sprint(problems))
		}
		v.facts.close()
	}
}

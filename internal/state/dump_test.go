package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// dump returns the contents of the state in dir as sorted lines. Two files with the same
// committed operations have the same lines when everything is merged, even if they were merged
// at different times.
func dump(t *testing.T, dir string) (lines []string) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	err = r.db.file.view(func(tx *bbolt.Tx) error {
		names := map[siteNum]frontier.Site{}
		err := tx.Bucket(bucketStates).ForEach(func(key, value []byte) error {
			var s siteRecord
			if err := s.decode(key, value); err != nil {
				return err
			}
			if names[keySite(key)] = s.Site; s.Ready == 0 {
				s.Head = 0
			}
			s.Merged = 0
			say("site %+v", s)
			return nil
		})
		if err != nil {
			return err
		}
		each(tx.Bucket(bucketEntries), func(key, value []byte) {
			site, row := names[keySite(key)], key[4:]
			switch {
			case key[4] == kindEnded:
				d := decoder{b: value[checksumSize:]}
				d.skipEntry()
				entry := value[checksumSize : len(value)-len(d.b)]
				fate, err := d.ended(tx.Bucket(bucketArchives))
				say("entry %s %x %x %+v %v", site, row, entry, fate, err)
				return
			case key[4] != kindSeen:
				say("entry %s %x %x", site, row, value[checksumSize:])
				return
			}
			for b := block(value[checksumSize:]); len(b) > 0; b = b[fingerSize:] {
				say("seen %s %x is %d", site, b.finger(0), b.num(0))
			}
		})
		each(tx.Bucket(bucketAside), func(key, _ []byte) {
			say("aside %s %x", names[keySite(key)], key[4:])
		})
		each(tx.Bucket(bucketMeta), func(key, value []byte) {
			if bytes.HasPrefix(key, []byte(valuePrefix)) {
				say("value %s %s", key, value[checksumSize:])
			}
		})
		for _, name := range [][]byte{bucketCommon, bucketSnapshots, bucketPayloads, bucketJournal} {
			each(tx.Bucket(name), func(key, value []byte) { say("%s %x %x", name, key, value[checksumSize:]) })
		}
		merged := tx.Bucket(bucketPayloads)
		met := map[string]bool{}
		each(tx.Bucket(bucketPayloadJournal), func(key, value []byte) {
			err := payloadsOf(key, value, func(j journaledPayload, _ Payload) {
				if merged.Get(j.key) == nil && !met[string(j.key)] {
					say("%s %x %x", bucketPayloads, j.key, j.raw)
				}
				met[string(j.key)] = true
			})
			if err != nil {
				say("%v", err)
			}
		})
		each(tx.Bucket(bucketBodies), func(key, value []byte) { say("%s %x %x", bucketBodies, key, value) })
		return nil
	})
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

package postgres

import "testing"

// A set of keys remembers as many as it has places, and forgets the one that was needed the longest
// time ago.
func TestKnownKeysForgetWhatWasNeededTheLongestTimeAgo(t *testing.T) {
	var k knownKeys
	k.init()
	key := func(n byte) [16]byte { return [16]byte{15: n + 1} } // all of one set
	for n := range byte(knownInSet) {
		k.add(key(n))
		k.add(key(n)) // takes no second place
	}
	for n := range byte(knownInSet) {
		if !k.has(key(n)) {
			t.Errorf("the key %d is forgotten, and the set has room for %d", n, knownInSet)
		}
	}
	k.has(key(0))
	if k.has(key(knownInSet)) {
		t.Error("a key is known that was not added")
	}
	k.add(key(knownInSet))
	for n := range byte(knownInSet + 1) {
		if got, want := k.has(key(n)), n != 1; got != want {
			t.Errorf("the key %d is known: %v, want %v", n, got, want)
		}
	}
}

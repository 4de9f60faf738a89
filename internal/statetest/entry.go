package statetest

import (
	"reflect"

	"github.com/permesso-crawler/permesso/frontier"
)

// SameEntry reports whether two entries are equal, including the contents of Visits.
func SameEntry(a, b frontier.Entry) bool {
	v, w := a.Visits, b.Visits
	a.Visits, b.Visits = nil, nil
	return a == b && reflect.DeepEqual(v, w)
}

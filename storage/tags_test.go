package storage

import (
	"reflect"
	"testing"

	"github.com/permesso-crawler/permesso/internal/store"
)

// The records have the names in JSON under which the crawl writes them. That they have the same
// fields is a matter of their conversion.
func TestRecordsHaveTheNamesOfTheFiles(t *testing.T) {
	for is, want := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[PageRecord](): reflect.TypeFor[store.PageRecord](), reflect.TypeFor[LinkRecord](): reflect.TypeFor[store.LinkRecord](),
	} {
		for i := range want.NumField() {
			if is, want := is.Field(i), want.Field(i); is.Tag != want.Tag {
				t.Errorf("%s is %s, want %s", is.Name, is.Tag, want.Tag)
			}
		}
	}
}

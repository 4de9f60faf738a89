package storage

import (
	"reflect"
	"testing"

	"github.com/permesso-crawler/permesso/internal/store"
)

// The JSON names of the records are the names that the crawl writes. Conversions in the package
// ensure that the fields are the same.
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

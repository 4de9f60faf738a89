package crawler

import (
	"errors"
	"fmt"
	"testing"
)

// Errors with the same text are joined to one. errors.Is and errors.As find each of the others.
func TestDistinct(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	for _, test := range []struct {
		errs []error
		want string
	}{
		{nil, "<nil>"}, {[]error{nil, nil}, "<nil>"}, {[]error{a}, "a"}, {[]error{nil, a, nil}, "a"}, {[]error{a, a}, "a"},
		{[]error{a, errors.New("a")}, "a"}, {[]error{a, b, a}, "a\nb"}, {[]error{errors.Join(a, b), b, errors.Join(b, a)}, "a\nb"},
		{[]error{errors.Join(a, errors.Join(b, nil)), fmt.Errorf("c: %w", a)}, "a\nb\nc: a"}, {[]error{errors.Join(a, a)}, "a"},
	} {
		err := distinct(test.errs...)
		if got := fmt.Sprint(err); got != test.want {
			t.Errorf("%q: %q, want %q", test.errs, got, test.want)
		}
		for _, e := range test.errs {
			if e == a && !errors.Is(err, a) {
				t.Errorf("%q is not %q", err, a)
			}
		}
	}
	if err := distinct(a, a); err != a {
		t.Errorf("one error is %#v", err)
	}
}

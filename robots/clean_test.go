package robots

import (
	"fmt"
	"strings"
	"testing"
)

// Clean gives the results of the examples in Yandex's documentation, and of cases that the
// documentation does not define.
func TestWhatCleanParamRemoves(t *testing.T) {
	many := strings.Builder{}
	for i := range 40 {
		fmt.Fprintf(&many, "Clean-param: p /%d/\n", i)
	}
	for _, tc := range []struct{ file, target, want string }{
		{"Clean-param: ref /some_dir/get_book.pl", "/some_dir/get_book.pl?ref=site_2&book_id=123", "/some_dir/get_book.pl?book_id=123"},
		{"Clean-param: s /forum/showthread.php", "/forum/showthread.php?s=681498b9648949605&t=8243", "/forum/showthread.php?t=8243"},
		{"Clean-param: s /forum/showthread.php", "/forum/other.php?s=681498b9648949605&t=8243", "/forum/other.php?s=681498b9648949605&t=8243"},
		{"Clean-param: s /forum*/showthread.php", "/forum_new/showthread.php?s=1&t=2", "/forum_new/showthread.php?t=2"},
		{"Clean-param: s /forum*/showthread.php", "/forum_new/show.php?s=1&t=2", "/forum_new/show.php?s=1&t=2"},
		{"Clean-param: sid&sort /forum/*.php\nClean-param: someTrash /forum/*.php", "/forum/x.php?someTrash=1&a=2&sort=up&sid=3", "/forum/x.php?a=2"},
		{"Clean-param: s", "/x?s=1", "/x"},
		{"Clean-param: s", "/x?s", "/x"},
		{"Clean-param: s", "/x?S=1&ss=2&%73=3&a=s", "/x?S=1&ss=2&%73=3&a=s"},
		{"Clean-param: s", "/x?b=2&s=1&a=1&s=2&b=2", "/x?b=2&a=1&b=2"},
		{"Clean-param: s", "/s=1", "/s=1"},
		{"Clean-param: s", "/x?&a&&", "/x?&a&&"},
		{"Clean-param: s", "/x?", "/x?"},
		{"Clean-param: s x/", "/x/?s=1", "/x/"},
		{"Clean-param: s *.php", "/a/b.php?s=1", "/a/b.php"},
		{"Clean-param: s *.php", "/a/b?s=1.php", "/a/b?s=1.php"},
		{"User-agent: other\nDisallow: /\nClean-param: s", "/x?s=1", "/x"}, // a Clean-param line belongs to no group
		{"Disallow: /x", "/x?s=1", "/x?s=1"},
		{"Clean-param: " + strings.Repeat("p&", 249) + "s", "/x?s=1", "/x"},
		{"Clean-param: " + strings.Repeat("p&", 250) + "s", "/x?s=1", "/x?s=1"},
		{many.String(), "/31/?p=1", "/31/"},
		{many.String(), "/32/?p=1", "/32/?p=1"},
		{many.String() + "Clean-param: q /0/", "/0/?p=1&q=2", "/0/"},
	} {
		c := Parse([]byte(tc.file), RFC9309).Cleaner()
		got := c.Clean(tc.target)
		if got != tc.want {
			t.Errorf("%.60q: %s becomes %s, want %s", tc.file, tc.target, got, tc.want)
		}
		if again := c.Clean(got); again != got {
			t.Errorf("%.60q: %s becomes %s, and then %s", tc.file, tc.target, got, again)
		}
	}
}

func FuzzCleaner(f *testing.F) {
	f.Add("Clean-param: a&b /x*y", "/x/y?b=1&c&a")
	f.Fuzz(func(t *testing.T, file, target string) {
		c := Parse([]byte(file), RFC9309).Cleaner()
		once := c.Clean(target)
		if again := c.Clean(once); again != once {
			t.Errorf("%q becomes %q, and then %q", target, once, again)
		}
		if before, _, _ := strings.Cut(target, "?"); !strings.HasPrefix(once, before) {
			t.Errorf("%q has another path than %q", once, target)
		}
	})
}

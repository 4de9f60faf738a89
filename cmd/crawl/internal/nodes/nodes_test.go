package nodes

import "testing"

// A password is found in each form of a connection string.
func TestAPasswordOfSeveralHosts(t *testing.T) {
	t.Parallel()
	for state, has := range map[string]bool{
		"postgres://u:secret@a:5432,b:5432/db": true, "postgres://u:secret@a,b/db": true, "postgres://u:secret@[::1]:5432,b:5432/db": true,
		"host=a,b user=u password=secret": true, "postgres://u@a,b/db?password=secret": true,
		"postgres://u@a:5432,b:5433/db": false, "postgres://u@a,b/db?target_session_attrs=read-write": false, "host=a,b port=1,2 user=u": false, "postgres://u@[::1]:5432/db": false,
	} {
		if hasPassword(state) != has {
			t.Errorf("%s: a password: %v", state, !has)
		}
	}
}

package toy

import "testing"

func TestToy(t *testing.T) {
	if Clamp(1, 2) != 2 || Clamp(3, 2) != 3 {
		t.Error("Clamp")
	}
	if Sum(3) != 6 || Sum(-1) != 0 {
		t.Error("Sum")
	}
}

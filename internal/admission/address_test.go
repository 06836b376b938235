package admission_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/admission"
)

func TestOldest(t *testing.T) {
	for list, want := range map[string]int{"a": 0, "a b": 0, "b a a": 1, "a b b a": 1, "c a b b a b": 2} {
		if got := admission.Oldest(strings.Fields(list), func(s string) string { return s }); got != want {
			t.Errorf("%s: got %d, want %d", list, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:7": "10.0.0.1", "[::ffff:10.0.0.1]:7": "10.0.0.1", "[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:7": "fe80::/64", "host:7": "host", "pipe": "pipe",
	} {
		if got := admission.Address(remote); got != want {
			t.Errorf("%s: got %s, want %s", remote, got, want)
		}
	}
}

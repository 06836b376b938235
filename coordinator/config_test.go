package coordinator

import (
	"errors"
	"strings"
	"testing"
)

func TestConfig_JoinsAllFaults(t *testing.T) {
	err := (&Config{Run: "a b", Shards: 3, Layout: []Tensor{{Name: "w", Shape: []int{2}, Size: 3}}}).validate(10)
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"a b", "power of two", "failure detection", "chunk", "term names", "folder", "rate", "epsilon", "tensor w", "layout covers"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not named in %v", part, err)
		}
	}
}

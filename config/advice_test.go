package config

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestHint_StaysBesideTheText(t *testing.T) {
	err := fmt.Errorf("open: %w", Hint(Usagef("read %s: %w", "x", fs.ErrNotExist), "look for %s", "x"))
	if got, want := err.Error(), "open: read x: file does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := HintOf(err), "look for x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, ErrUsage) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v matches neither its mark nor its cause", err)
	}
	if outer := HintOf(Hint(err, "else")); outer != "else" {
		t.Errorf("got %q, want the outermost hint", outer)
	}
}

func TestHint_OfNothing(t *testing.T) {
	if err := Hint(nil, "do"); err != nil {
		t.Errorf("got %v", err)
	}
	if got := HintOf(errors.New("plain")); got != "" {
		t.Errorf("got %q", got)
	}
	if errors.Is(errors.New("plain"), ErrUsage) {
		t.Error("every error is the caller's")
	}
}

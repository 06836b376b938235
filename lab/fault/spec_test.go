package fault

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	text := "seed=7,drop=2%,dup=0.01,delay=200ms/10%,corrupt=0.1%,nan=0.1%,partition=4s,disk-full=3s/60s,soon=5s,counts=/tmp/c"
	want := Spec{
		Seed: 7, Drop: 0.02, Dup: 0.01, Corrupt: 0.001, NaN: 0.001, Delay: Delay{200 * time.Millisecond, 0.1},
		Partition: Outage{4 * time.Second, 40 * time.Second}, DiskFull: Outage{3 * time.Second, time.Minute}, Counts: "/tmp/c", Soon: 5 * time.Second,
	}
	got, err := Parse(text)
	if err != nil || got != want {
		t.Fatalf("got %+v, %v", got, err)
	}
	if again, err := Parse(got.String()); err != nil || again != want {
		t.Errorf("%s is read as %+v, %v", got, again, err)
	}
	if d, err := ParseDelay("200ms"); err != nil || d.Share != defaultDelayShare {
		t.Errorf("a delay without a share: %+v, %v", d, err)
	}
}

// TestParse_AnyPath: the folder of a test may be called as it likes.
func TestParse_AnyPath(t *testing.T) {
	for _, path := range []string{"/tmp/a,b/c", "/tmp/100%/c", "/tmp/a%2Cb", "/tmp/ü b"} {
		want := Spec{Drop: 0.5, Counts: path}
		if got, err := Parse(want.String()); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", want, got, err)
		}
	}
}

func TestParse_SaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "NAME=VALUE",
		"drop":              "NAME=VALUE",
		"drop=x":            "share",
		"drop=101%":         "between",
		"drop=-1%":          "between",
		"drop=NaN":          "between",
		"delay=5":           "length of time",
		"delay=5s/x":        "share",
		"partition=-1s":     "length of time",
		"partition=4s/4s":   "no time between",
		"disk-full=4s/zero": "length of time",
		"seed=-1":           "invalid syntax",
		"kill=5s":           "the settings are",
	} {
		_, err := Parse(text)
		if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

package kernel

import (
	"errors"
	"slices"
	"testing"
)

// eachISA runs f under every instruction set of this machine and build.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, isa := range Available() {
		t.Run(isa.String(), func(t *testing.T) {
			use(t, isa)
			f(t)
		})
	}
}

// use makes isa active for the rest of a test.
func use(tb testing.TB, isa ISA) {
	tb.Helper()
	before := Active()
	if err := Use(isa); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { active = before })
}

func TestISA_Names(t *testing.T) {
	for isa := Portable; isa <= NEON; isa++ {
		got, err := ParseISA(isa.String())
		if err != nil || got != isa {
			t.Errorf("ParseISA(%q) = %v, %v", isa.String(), got, err)
		}
	}
	if _, err := ParseISA("sse9"); !errors.Is(err, ErrUnknownISA) {
		t.Errorf("ParseISA of an unknown name: %v", err)
	}
	if got := ISA(9).String(); got != "ISA(9)" {
		t.Errorf("unknown instruction set is called %q", got)
	}
}

func TestUse(t *testing.T) {
	use(t, Portable)
	if Active() != Portable {
		t.Errorf("active is %v", Active())
	}
	for isa := Portable; isa <= NEON+1; isa++ {
		here := slices.Contains(Available(), isa)
		if err := Use(isa); here != (err == nil) || err != nil && !errors.Is(err, ErrNoISA) {
			t.Errorf("Use(%v), available %v: %v", isa, here, err)
		}
		if (Active() == isa) != here {
			t.Errorf("after Use(%v), available %v, the active set is %v", isa, here, Active())
		}
		use(t, Portable)
	}
}

// TestAvailable: portable always, and no two processors' sets at once.
func TestAvailable(t *testing.T) {
	all := Available()
	if all[0] != Portable || all[len(all)-1] != Best() || !slices.IsSorted(all) {
		t.Errorf("available are %v, the best is %v", all, Best())
	}
	if slices.Contains(all, NEON) && slices.Contains(all, AVX2) {
		t.Errorf("available are %v", all)
	}
}

func TestPeak(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		perIteration := 24.0
		switch Active() {
		case AVX2:
			perIteration *= 8
		case AVX512:
			perIteration *= 16
		case NEON:
			perIteration *= 2 * 4
		}
		if got, want := Peak(20000), 20000*perIteration; got != want {
			t.Errorf("%g operations, want %g", got, want)
		}
		if got := Peak(0); got != 0 {
			t.Errorf("%g operations in no iteration", got)
		}
	})
}

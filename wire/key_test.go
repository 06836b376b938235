package wire

import (
	"strings"
	"testing"
)

// What a worker claims never gives it the name of a worker with another key.
func TestName_OtherKeyOtherName(t *testing.T) {
	const key, other = "UAAAAAAAAAAA", "UBBBBBBBBBBB"
	honest := Name("w1", key)
	for _, id := range []string{"w1", "w1@" + key, honest, "w1@", "@" + key, "", "w1@" + key + "@" + key} {
		for _, as := range []string{other, NoKey} {
			name := Name(id, as)
			if name == honest && CheckWorker(name) == nil {
				t.Errorf("%q with key %s is called as %s", id, as, honest)
			}
			if strings.Contains(id, "@") && CheckWorker(name) == nil {
				t.Errorf("%q with key %s has the name %q, which is good", id, as, name)
			}
		}
	}
	if id, k := SplitName(honest); id != "w1" || k != key || CheckWorker(honest) != nil {
		t.Errorf("%s is %s with key %s: %v", honest, id, k, CheckWorker(honest))
	}
	if Name("w1", NoKey) != "w1" || KeyName("") != NoKey || KeyName(key+"XYZ") != key {
		t.Error("names without a key, or of one, are wrong")
	}
}

// The subjects of a key's workers are those of no other key, and none has more or fewer parts than permissions expect.
func TestSubjects_OfAKey(t *testing.T) {
	s, err := SubjectsOf("r")
	if err != nil {
		t.Fatal(err)
	}
	of := s.By("UAAAAAAAAAAA")
	for got, want := range map[string]string{
		of.Control:                       "sy.r.control.UAAAAAAAAAAA",
		of.Data:                          "sy.r.data.UAAAAAAAAAAA",
		of.Theta:                         "sy.r.theta",
		s.Worker("w1@UAAAAAAAAAAA"):      "sy.r.worker.UAAAAAAAAAAA.w1",
		s.Worker("w1"):                   "sy.r.worker.open.w1",
		AssignSubject("w1@UAAAAAAAAAAA"): "sypool.worker.UAAAAAAAAAAA.w1",
		By(SeekSubject, KeyName("UAAAAAAAAAAA...")): "sypool.seek.UAAAAAAAAAAA",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A bus hears all keys and tells them apart; who subscribes to one subject hears nothing else.
func TestMemory_HearsKeys(t *testing.T) {
	m := NewMemory(nil)
	got := make(chan string, 4)
	sub, err := m.Hear("sy.r.control", func(key string, data []byte) { got <- key + ":" + string(data) })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	for _, key := range []string{"UA", "UB"} {
		bus := m.With(key)
		publish(t, bus, By("sy.r.control", bus.Key()), "x")
	}
	publish(t, m, "sy.r.control", "without a key")
	publish(t, m, "sy.r.control.UA.more", "too long")
	if a, b := <-got, <-got; a != "UA:x" || b != "UB:x" || len(got) > 0 {
		t.Errorf("heard %s and %s", a, b)
	}
}

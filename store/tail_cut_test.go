package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// appendLosses appends a record for each step, whose loss is base plus the step.
func appendLosses(t *testing.T, r *Run, base float64, from, to uint64) {
	t.Helper()
	for s := from; s <= to; s++ {
		if err := r.Append(Record{Step: s, Split: "train", Values: Values{"loss": base + float64(s)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// cutTo lets a run go back to a step.
func cutTo(t *testing.T, r *Run, step uint64) {
	t.Helper()
	if err := r.Cut(step); err != nil {
		t.Fatal(err)
	}
}

// wantBack checks that a tail reports a return to a position, and then reads the steps behind it, whose losses are base
// plus the step.
func wantBack(t *testing.T, tail *Tail, to Position, base float64, last uint64) {
	t.Helper()
	records, back, err := tail.Next(1000)
	if err != nil || !back || len(records) != 0 || tail.Position() != to {
		t.Fatalf("%d records, back %v, at %v, %v; want back at %v", len(records), back, tail.Position(), err, to)
	}
	records, back, err = tail.Next(1000)
	if err != nil || back || len(records) != int(last-to.Step) {
		t.Fatalf("%d records behind %v, back %v, %v", len(records), to, back, err)
	}
	for i, r := range records {
		if r.Step != to.Step+uint64(i)+1 || r.Values["loss"] != base+float64(r.Step) {
			t.Fatalf("record %d behind %v is %+v", i, to, r)
		}
	}
}

// TestTail_RunIsAheadAgain: a run that went back and has come past the position by the next look has gone back all the
// same, to where it did, also for a reader that began in the middle.
func TestTail_RunIsAheadAgain(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendLosses(t, r, 0, 1, 120)
	tails := map[Position]*Tail{{}: nil, {100, 1}: nil, {120, 1}: nil, {121, 0}: nil}
	for from := range tails {
		tails[from] = follow(t, dir, from)
		drain(t, tails[from])
	}
	cutTo(t, r, 60)
	appendLosses(t, r, 1000, 61, 150)
	for from, tail := range tails {
		t.Run(from.String(), func(t *testing.T) { wantBack(t, tail, Position{60, 1}, 1000, 150) })
	}
}

// TestTail_BackTwice: each return is noticed, also one to the step of the last one, behind which the file goes on with
// the same header, and one to a step before all that the reader has read.
func TestTail_BackTwice(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendLosses(t, r, 0, 1, 120)
	tail, late := follow(t, dir, Position{}), follow(t, dir, Position{119, 1})
	drain(t, tail)
	drain(t, late)
	for i, step := range []uint64{60, 60, 90, 30, 30, 0} {
		base := float64(1000 * (i + 1))
		cutTo(t, r, step)
		appendLosses(t, r, base, step+1, 150)
		to := Position{step, min(1, int(step))}
		wantBack(t, tail, to, base, 150)
		wantBack(t, late, to, base, 150)
	}
}

// TestTail_OtherColumns: rows behind a place that the run went back to are read by the headers that it has written
// since, not by those with the same keys that were cut off.
func TestTail_OtherColumns(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendLosses(t, r, 0, 1, 4)
	add := func(values Values, steps ...uint64) {
		t.Helper()
		for _, s := range steps {
			if err := r.Append(Record{Step: s, Split: "train", Values: values}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(Values{"kl": 5, "loss": 6}, 5, 6)
	tail := follow(t, dir, Position{})
	drain(t, tail)
	cutTo(t, r, 4)
	add(Values{"norm": 7}, 5, 6, 7, 8)
	if _, back, err := tail.Next(10); err != nil || !back || tail.Position() != (Position{4, 1}) {
		t.Fatalf("back %v, at %v, %v", back, tail.Position(), err)
	}
	records, _, err := tail.Next(10)
	if err != nil || len(records) != 4 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, m := range records {
		if len(m.Values) != 1 || m.Values["norm"] != 7 {
			t.Errorf("step %d has %v", m.Step, m.Values)
		}
	}
}

// TestTail_OlderFormIsReplaced: where no header says how far the records are the same, all are read again.
func TestTail_OlderFormIsReplaced(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	write := func(base int) {
		t.Helper()
		var b strings.Builder
		for s := 1; s <= 9; s++ {
			v := s
			if s > 5 {
				v += base
			}
			fmt.Fprintf(&b, `{"step":%d,"split":"train","time":"2026-01-01T00:00:00Z","seconds":1,"values":{"loss":%d}}`, s, v)
			b.WriteString("\n")
		}
		if err := os.WriteFile(r.Path(metricsFile), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(10)
	tail := follow(t, dir, Position{})
	drain(t, tail)
	write(20)
	if _, back, err := tail.Next(10); err != nil || !back || tail.Position() != (Position{}) {
		t.Fatalf("back %v, at %v, %v", back, tail.Position(), err)
	}
	if steps, back := drain(t, tail); len(steps) != 9 || back {
		t.Errorf("got %v, back %v", steps, back)
	}
}

// TestTail_LongLineBefore: what no run has written is damage also if it stands before the position.
func TestTail_LongLineBefore(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendLosses(t, r, 0, 1, 3)
	text, err := os.ReadFile(r.Path(metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte(strings.Repeat(" ", 2*nearby)+"\n"), text...)
	if err := os.WriteFile(r.Path(metricsFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := follow(t, dir, Position{3, 1}).Next(1); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestTail_FollowsAnyRun: whatever a run does between two looks, a reader that drops what is behind the position it is
// sent back to has the records of the file; and nothing is sent twice.
func TestTail_FollowsAnyRun(t *testing.T) {
	for seed := range uint64(8) {
		draw := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		r := create(t, dir, "a")
		tail := follow(t, dir, Position{})
		var have []Record
		step, serial := uint64(0), 0.0
		for range 60 {
			if step > 0 && draw.IntN(3) == 0 {
				step = draw.Uint64N(step + 1)
				cutTo(t, r, step)
			}
			for range draw.IntN(1 << draw.IntN(8)) {
				step++
				for _, split := range []string{"train", "validation"}[:1+draw.IntN(5)/4] {
					serial++
					m := Record{Step: step, Split: split, Values: Values{"loss": serial}}
					if draw.IntN(50) == 0 {
						m.Values["kl"] = 0.1
					}
					if err := r.Append(m); err != nil {
						t.Fatal(err)
					}
				}
			}
			if draw.IntN(2) == 0 {
				have = looked(t, tail, have)
			}
		}
		have = looked(t, tail, have)
		i := 0
		if err := ReadMetrics(dir, "a", func(m Record) error {
			if i >= len(have) || fmt.Sprint(have[i]) != fmt.Sprint(m) {
				t.Fatalf("seed %d: record %d of %d: the file has %v", seed, i, len(have), m)
			}
			i++
			return nil
		}); err != nil || i != len(have) {
			t.Errorf("seed %d: %d records of %d, %v", seed, len(have), i, err)
		}
	}
}

// looked reads all that a tail has behind the records that its reader has, and returns those that hold.
func looked(t *testing.T, tail *Tail, have []Record) []Record {
	t.Helper()
	for {
		records, back, err := tail.Next(7)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 && !back {
			return have
		}
		if !back {
			have = append(have, records...)
			continue
		}
		at, keep := Position{}, 0
		for keep < len(have) && at != tail.Position() {
			at = at.behind(have[keep].Step)
			keep++
		}
		if at != tail.Position() || keep == len(have) {
			t.Fatalf("back at %v, behind %d of %d records", tail.Position(), keep, len(have))
		}
		void := have[keep]
		have = have[:keep]
		records, _, err = tail.Next(1)
		if err != nil || len(records) == 1 && fmt.Sprint(records[0]) == fmt.Sprint(void) {
			t.Fatalf("after the return to %v, %v is sent again; %v", at, records, err)
		}
		have = append(have, records...)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A soak goes by rounds: an attack of some seconds after the other, with faults, for roundTime, and then a quiet window,
// to know what the machine can do at that time.
const roundTime = 2 * time.Minute

// soak counts what happened.
type soak struct {
	*yard
	draws                         *rand.Rand
	acts                          map[string]int
	replaced, killed, led, bans   int
	attackedSteps, quietSteps     uint64
	attackedSeconds, quietSeconds float64
}

// soakFor attacks at random while workers come and go, and compares goodput with that of the quiet times between, and
// bits with those of a run alone.
func (y *yard) soakFor(ctx context.Context) error {
	s := &soak{yard: y, draws: rand.New(rand.NewPCG(y.seed, 1)), acts: map[string]int{}}
	if err := y.begin(ctx); err != nil {
		return err
	}
	for s.attackedSeconds < y.soak.Seconds() {
		length := min(roundTime, y.soak-time.Duration(s.attackedSeconds*float64(time.Second)))
		steps, seconds, err := s.span(ctx, func() error { return s.round(ctx, length) })
		s.attackedSteps, s.attackedSeconds = s.attackedSteps+steps, s.attackedSeconds+seconds
		if err == nil {
			err = pause(ctx, 2*time.Second)
		}
		if err != nil {
			return err
		}
		if steps, seconds, err = s.span(ctx, func() error { return pause(ctx, 2*y.window) }); err != nil {
			return err
		}
		s.quietSteps, s.quietSeconds = s.quietSteps+steps, s.quietSeconds+seconds
		fmt.Fprintln(os.Stderr, s)
	}
	fmt.Println(s)
	return y.compare(ctx)
}

func (s *soak) String() string {
	attacked, quiet := float64(s.attackedSteps)/s.attackedSeconds, float64(s.quietSteps)/s.quietSeconds
	return fmt.Sprintf("%.0f s of attacks %v; %d bans, workers left and came %d times, workers killed %d times, the coordinator %d times: "+
		"%.0f steps/s that count, %.0f in %.0f quiet seconds between: %.2f",
		s.attackedSeconds, s.acts, s.bans, s.replaced, s.killed, s.led, attacked, quiet, s.quietSeconds, attacked/quiet)
}

// span is how many steps the run made, and how long it took. What was computed twice counts once.
func (s *soak) span(ctx context.Context, do func() error) (steps uint64, seconds float64, err error) {
	from, err := s.show(ctx, s.name)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	to, err := s.show(ctx, s.name)
	return to.Step - min(from.Step, to.Step), time.Since(began).Seconds(), err
}

// round attacks for some time. A coordinator is killed in the midst of it.
func (s *soak) round(ctx context.Context, length time.Duration) error {
	all := attacks()
	kill := time.Now().Add(length / 2)
	for began := time.Now(); time.Since(began) < length; {
		a := all[s.draws.IntN(len(all))]
		s.acts[a.name]++
		stop, err := s.letIn(a)
		if err != nil {
			return err
		}
		err = pause(ctx, time.Duration(1+s.draws.IntN(4))*time.Second)
		if err == nil {
			err = s.disturb()
		}
		if err == nil && time.Now().After(kill) {
			kill = began.Add(2 * length)
			s.led++
			s.end("coordinator", os.Kill)
			err = s.lead()
		}
		if err == nil {
			err = pause(ctx, time.Duration(1+s.draws.IntN(8))*time.Second)
		}
		key, _, banErr := s.banned(ctx)
		if key != "" {
			s.bans++
		}
		stop()
		if err := errors.Join(err, banErr, s.unban(ctx), s.alive()); err != nil {
			return err
		}
	}
	return nil
}

// disturb lets an honest worker leave and come back, or kills it, or lets one more come or go.
func (s *soak) disturb() error {
	name := s.honest()[s.draws.IntN(s.workers)]
	switch s.draws.IntN(4) {
	case 0:
		s.replaced++
		s.end(name, os.Interrupt)
		return s.hire(name)
	case 1:
		s.killed++
		s.end(name, os.Kill)
		return s.hire(name)
	case 2:
		s.replaced++
		if s.processes["late"] != nil {
			s.end("late", os.Interrupt)
			return nil
		}
		return s.hire("late")
	}
	return nil
}

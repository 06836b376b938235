package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A soak goes by rounds: attacks of some seconds one after the other, with faults; the same faults without a thief, to
// know what they cost; and a quiet time, to know what the machine can do at that moment.
const (
	attackTime = 2 * time.Minute
	faultTime  = time.Minute
	quietTime  = 20 * time.Second
)

// soak counts what happened.
type soak struct {
	*yard
	draws                       *rand.Rand
	acts                        map[string]int
	replaced, killed, led, bans int
	attacked, faulty, quiet     pace
}

// pace is how many steps a run made in so many seconds.
type pace struct {
	steps   uint64
	seconds float64
}

func (p pace) speed() float64 { return float64(p.steps) / max(p.seconds, 1e-9) }

// soakFor attacks at random while workers come and go, and compares goodput with that of the times between, and bits
// with those of a run alone.
func (y *yard) soakFor(ctx context.Context) error {
	s := &soak{yard: y, draws: rand.New(rand.NewPCG(y.seed, 1)), acts: map[string]int{}}
	if err := y.begin(ctx); err != nil {
		return err
	}
	for s.attacked.seconds < y.soak.Seconds() {
		length := min(attackTime, y.soak-time.Duration(s.attacked.seconds*float64(time.Second)))
		err := s.span(ctx, &s.attacked, func() error { return s.round(ctx, length, attacks()) })
		if err == nil {
			err = s.span(ctx, &s.faulty, func() error { return s.round(ctx, faultTime, nil) })
		}
		if err == nil {
			err = pause(ctx, 5*time.Second) // all are there again
		}
		if err == nil {
			err = s.span(ctx, &s.quiet, func() error { return pause(ctx, quietTime) })
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, s)
	}
	fmt.Println(s)
	return y.compare(ctx)
}

func (s *soak) String() string {
	return fmt.Sprintf("%.0f s of attacks %v, %d bans; with and without them, workers left and came %d times, workers "+
		"were killed %d times, the coordinator %d times: "+
		"%.0f steps/s that count; %.0f in %.0f s of the same faults without a thief: %.2f; %.0f in %.0f quiet seconds: %.2f",
		s.attacked.seconds, s.acts, s.bans, s.replaced, s.killed, s.led, s.attacked.speed(), s.faulty.speed(),
		s.faulty.seconds, s.attacked.speed()/s.faulty.speed(),
		s.quiet.speed(), s.quiet.seconds, s.attacked.speed()/s.quiet.speed())
}

// span adds how many steps the run made, and how long it took. What was computed twice counts once.
func (s *soak) span(ctx context.Context, p *pace, do func() error) error {
	from, err := s.show(ctx, s.name)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	to, err := s.show(ctx, s.name)
	p.steps += to.Step - min(from.Step, to.Step)
	p.seconds += time.Since(began).Seconds()
	return err
}

// round lets faults happen for some time, and one of the attacks after the other, if there are any. In the midst of it
// the coordinator is killed.
func (s *soak) round(ctx context.Context, length time.Duration, all []attack) error {
	kill := time.Now().Add(length / 2)
	for began := time.Now(); time.Since(began) < length; {
		stop := func() {}
		if len(all) > 0 {
			a := all[s.draws.IntN(len(all))]
			s.acts[a.name]++
			var err error
			if stop, err = s.letIn(a); err != nil {
				return err
			}
		}
		err := pause(ctx, time.Duration(2+s.draws.IntN(6))*time.Second)
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
			err = pause(ctx, time.Duration(2+s.draws.IntN(6))*time.Second)
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

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// result is the run's speed in steps per second before, during and after one attack.
type result struct {
	before, during, after float64
	reason                string // of the ban; empty: there was none
}

// ratio is the speed under attack over that of the quiet times on both sides, so that what else the machine does counts
// for less.
func (r result) ratio() float64 { return r.during / max((r.before+r.after)/2, 1e-9) }

// table measures each attack by turns and prints a table.
func (y *yard) table(ctx context.Context) error {
	chosen := attacks()
	if y.rows != "" {
		names := strings.Split(y.rows, ",")
		chosen = slices.DeleteFunc(chosen, func(a attack) bool { return !slices.Contains(names, a.name) })
	}
	if err := y.begin(ctx); err != nil {
		return err
	}
	results := map[string][]result{}
	for range y.turns {
		for _, a := range chosen {
			r, err := y.measure(ctx, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			results[a.name] = append(results[a.name], r)
			fmt.Fprintf(os.Stderr, "%s: %.0f, %.0f, %.0f steps/s, ratio %.2f, banned: %s\n", a.name, r.before, r.during, r.after,
				r.ratio(), r.reason)
		}
	}
	y.print(chosen, results)
	return y.compare(ctx)
}

func (y *yard) print(chosen []attack, results map[string][]result) {
	fmt.Printf("| attack | steps/s before | during, after %v | when it is over | during ÷ quiet: median (least, most) "+
		"| thief banned |\n|---|---|---|---|---|---|\n", y.wait)
	for _, a := range chosen {
		all, cut := results[a.name], 0
		for _, r := range all {
			if r.reason != "" {
				cut++
			}
		}
		column := func(of func(result) float64) []float64 {
			var values []float64
			for _, r := range all {
				values = append(values, of(r))
			}
			slices.Sort(values)
			return values
		}
		median := func(values []float64) float64 { return values[len(values)/2] }
		ratios := column(result.ratio)
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f (%.2f, %.2f) | %d of %d |\n", a.what,
			median(column(func(r result) float64 { return r.before })),
			median(column(func(r result) float64 { return r.during })),
			median(column(func(r result) float64 { return r.after })),
			median(ratios), ratios[0], ratios[len(ratios)-1], cut, len(all))
	}
}

// measure measures one attack.
func (y *yard) measure(ctx context.Context, a attack) (r result, err error) {
	runs := []string{y.name}
	if a.second {
		name := fmt.Sprintf("second-%d", time.Now().UnixNano())
		if err := y.submit(ctx, name); err != nil {
			return r, err
		}
		runs = append(runs, name)
		defer func() {
			_, stopErr := y.operate(ctx, "runs", "stop", name)
			err = errors.Join(err, stopErr)
		}()
		if err := pause(ctx, 3*time.Second); err != nil {
			return r, err
		}
	}
	if r.before, err = y.speed(ctx, runs...); err != nil {
		return r, err
	}
	stop, err := y.letIn(a)
	if err != nil {
		return r, err
	}
	err = pause(ctx, y.wait)
	if err == nil {
		r.during, err = y.speed(ctx, runs...)
	}
	if err == nil {
		_, r.reason, err = y.banned(ctx)
	}
	err = errors.Join(err, y.look(ctx), y.alive())
	stop()
	if err := errors.Join(err, y.unban(ctx), pause(ctx, time.Second)); err != nil {
		return r, err
	}
	r.after, err = y.speed(ctx, runs...)
	return r, err
}

// look opens the page's stream of events, as a browser does, and waits for something to come.
func (y *yard) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+y.page+"/api/events", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	defer answer.Body.Close()
	if _, err := answer.Body.Read(make([]byte, 64)); err != nil {
		return fmt.Errorf("the page says nothing: %w", err)
	}
	return nil
}

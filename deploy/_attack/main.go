// Attack measures what the holder of one stolen worker key can do to a run. It starts a broker with keys, a coordinator
// and honest workers, each a process with a key of its own, and then lets a thief, a process too, do one thing after
// the other. For each it writes the run's speed before, from ten seconds after the beginning, and when it is over, and
// whether the thief was banned. At the end the run's parameters are compared with those of a run without a thief.
//
//	go build -o switchyard ./cmd/switchyard && go run ./deploy/_attack -binary ./switchyard
//
// The thief shares the machine with those whom it attacks. It runs under nice 19, so that the figures are of what they
// do because of it, and not of the processor that it takes; -nice 0 gives it its share.
//
// With -soak the thief does all of it in random order for that time, while honest workers come and go, and workers and
// coordinators are killed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	binary, dir, preset, rows string
	workers, turns, nice      int
	window, wait, soak        time.Duration
	seed                      uint64
}

func main() {
	var o options
	var as string
	var t thief
	flag.StringVar(&o.binary, "binary", "./switchyard", "the program to attack")
	flag.StringVar(&o.dir, "dir", "", "folder for keys, runs and logs (default: a temporary one, which is removed)")
	flag.StringVar(&o.preset, "preset", "noise/smoke", "what is trained")
	flag.StringVar(&o.rows, "rows", "", "names of the attacks, with commas between (default: all)")
	flag.IntVar(&o.workers, "workers", 2, "honest workers")
	flag.IntVar(&o.turns, "turns", 3, "times that each attack is measured")
	flag.IntVar(&o.nice, "nice", 19, "how far the thief stands back for the others, 0 to 19")
	flag.DurationVar(&o.window, "window", 5*time.Second, "time over which a speed is measured")
	flag.DurationVar(&o.wait, "wait", 10*time.Second, "time from the begin of an attack to its measurement")
	flag.DurationVar(&o.soak, "soak", 0, "attack at random for that time instead, with faults, and workers that come "+
		"and go")
	flag.Uint64Var(&o.seed, "seed", 1, "of the soak")
	flag.StringVar(&as, "as", "", "be the thief of that attack; the flags that follow are for it")
	flag.StringVar(&t.url, "url", "", "address of the broker")
	flag.StringVar(&t.keyFile, "key", "", "file of the stolen key")
	flag.StringVar(&t.page, "page", "", "address of the page")
	flag.StringVar(&t.run, "run", "", "name of the run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if as != "" {
		t.honest = flag.Args()
		err = t.be(ctx, as)
	} else {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.turns < 1 || o.workers < 1 {
		return fmt.Errorf("-turns %d and -workers %d: both must be at least 1", o.turns, o.workers)
	}
	y, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer y.close()
	if o.soak > 0 {
		return y.soakFor(ctx)
	}
	return y.table(ctx)
}

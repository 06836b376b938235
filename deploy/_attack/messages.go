package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// shout publishes as fast as the connection takes it.
func shout(subject string, data []byte) func(context.Context, *thief) error {
	return func(ctx context.Context, t *thief) error {
		conn, key, err := t.enter()
		if err != nil {
			return err
		}
		defer conn.Close()
		for at := wire.By(strings.ReplaceAll(subject, "RUN", t.run), key); ctx.Err() == nil; {
			if conn.Publish(at, data) != nil {
				time.Sleep(10 * time.Millisecond) // it was cut off
			}
		}
		return nil
	}
}

// flood shouts a message.
func flood(subject string, m wire.Message) func(context.Context, *thief) error {
	return func(ctx context.Context, t *thief) error {
		*m.Head() = wire.Header{Run: t.run, From: "mallory", Term: 1, Token: 99}
		if subject == wire.SeekSubject {
			m.Head().Run = wire.Pool
		}
		return shout(subject, encode(m))(ctx, t)
	}
}

// seek is a sound Seek of a worker that does not exist.
func seek(id string, token, number uint64, slots int) *wire.Seek {
	return &wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: id, Token: token}, Slots: slots, Numerics: job.Numerics(), Number: number,
	}
}

// seeking publishes what say says, again and again.
func seeking(ctx context.Context, t *thief, every time.Duration, say func(n uint64, publish func(data []byte))) error {
	conn, key, err := t.enter()
	if err != nil {
		return err
	}
	defer conn.Close()
	for n := uint64(1); ctx.Err() == nil; n++ {
		say(n, func(data []byte) { _ = conn.Publish(wire.By(wire.SeekSubject, key), data) }) // it may have been cut off
		time.Sleep(every)
	}
	return nil
}

func forgeSeeks(ctx context.Context, t *thief) error {
	return seeking(ctx, t, 10*time.Millisecond, func(n uint64, publish func([]byte)) {
		for _, id := range t.honest {
			wrong := seek(id, n, n, 1)
			wrong.Numerics[0].Sum++
			publish(encode(wrong))
			old := encode(seek(id, n, n, 1))
			old[1]++
			publish(old)
		}
	})
}

func phantom(ctx context.Context, t *thief) error {
	return seeking(ctx, t, 700*time.Millisecond, func(n uint64, publish func([]byte)) {
		publish(encode(seek("phantom", 1,
			n, 1024)))
	})
}

func phantoms(ctx context.Context, t *thief) error {
	return seeking(ctx, t, 700*time.Millisecond, func(n uint64, publish func([]byte)) {
		for i := range 1100 {
			publish(encode(seek(fmt.Sprint("phantom", i), uint64(i+1), n, 1024)))
		}
	})
}

// silent is members of the run that are what they should be, say that they compute their leases, and never deliver.
func silent(members int) func(context.Context, *thief) error {
	return func(ctx context.Context, t *thief) error {
		bus, err := cluster.Connect(cluster.BusConfig{
			URL: t.url, Name: "silent", NKeyFile: t.keyFile,
			Log: hclog.NewNullLogger(),
		})
		if err != nil {
			return err
		}
		defer bus.Close()
		build := func(data, set []byte, slots int) (worker.Program, error) {
			p, err := job.Build(config.Builtin().Kinds())(data, set, slots)
			return &idler{Program: p, ctx: ctx}, err
		}
		for i := range members {
			w, err := worker.New(worker.Config{
				Run: t.run, ID: fmt.Sprint("silent", i), Slots: 4, Numerics: job.Numerics(),
				Build: build,
			}, bus, hclog.NewNullLogger())
			if err != nil {
				return err
			}
			go func() { _ = w.Run(ctx) }() // it is refused or cut off
		}
		<-ctx.Done()
		return nil
	}
}

// idler computes the golden shard, by which a worker is recognised, and nothing else.
type idler struct {
	worker.Program
	ctx context.Context
}

func (p *idler) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	if step == 0 {
		return p.Program.Gradient(slot, step, shard, grad, terms)
	}
	<-p.ctx.Done()
	return p.ctx.Err()
}

// churn connects with the stolen key, and leaves.
func churn(ctx context.Context, t *thief) error {
	_, proof, err := t.credentials()
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		conn, err := nats.Connect(t.url, proof, nats.NoReconnect(), nats.Timeout(5*time.Second))
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		conn.Close()
	}
	return nil
}

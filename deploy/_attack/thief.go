package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire"
)

// thief has the key of a worker.
type thief struct {
	url, keyFile, page, run string
	honest                  []string // ids of the other workers
}

// attack is one thing that a thief does until the context ends. With second, a second run is open all the time, and the
// speed is that of both.
type attack struct {
	name, what string
	second     bool
	act        func(ctx context.Context, t *thief) error
}

func attacks() []attack {
	garbage := make([]byte, 1<<20)
	return []attack{
		{"forged-seek", "`Seek` under the honest workers' ids, with a wrong fingerprint or version", false, forgeSeeks},
		{"phantom", "a phantom with 1,024 slots seeks every 0.7 s, and a second run is open", true, phantom},
		{"phantoms", "1,100 phantoms", false, phantoms},
		{"silent", "one worker that is ready and delivers nothing", false, silent(1)},
		{"silents", "64 such workers", false, silent(64)},
		{"hello", "flood of `Hello`", false, flood("sy.RUN.control", &wire.Hello{Slots: 1, Numerics: job.Numerics()})},
		{"need", "flood of `Need`", false, flood("sy.RUN.control", &wire.Need{
			Step:   1,
			Ranges: []wire.Range{{First: 0, Count: 1}},
		})},
		{"result", "flood of `Result`", false, flood("sy.RUN.control", &wire.Result{Lease: 1, Step: 1, Count: 1})},
		{"seek", "flood of `Seek`", false, flood(wire.SeekSubject, &wire.Seek{Slots: 1, Numerics: job.Numerics()})},
		{"chunk", "flood of chunks that were not requested", false, flood("sy.RUN.data",
			&wire.Chunk{Data: make([]byte, 60_000)})},
		{"noise", "flood of garbage, 16 bytes each", false, shout("sy.RUN.data", garbage[:16])},
		{"garbage", "flood of garbage, 1 MiB each", false, shout("sy.RUN.control", garbage)},
		{"knock", "connections without a key, as many as go", false, knock(1)},
		{"knocks", "the same, 64 at a time", false, knock(64)},
		{"churn", "connections with the stolen key, which come and go", false, churn},
		{"streams", "64 event streams of the page, opened again and again", false, streams},
	}
}

// be does what an attack is.
func (t *thief) be(ctx context.Context, name string) error {
	all := attacks()
	i := slices.IndexFunc(all, func(a attack) bool { return a.name == name })
	if i < 0 {
		return fmt.Errorf("there is no attack %q", name)
	}
	return all[i].act(ctx, t)
}

// credentials are the name of the stolen key, and what proves it to a broker.
func (t *thief) credentials() (key string, proof nats.Option, err error) {
	seed, err := os.ReadFile(t.keyFile)
	if err != nil {
		return "", nil, err
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		return "", nil, err
	}
	public, err := pair.PublicKey()
	return wire.KeyName(public), nats.Nkey(public, pair.Sign), err
}

// enter connects with the stolen key, and comes back whenever it can.
func (t *thief) enter() (conn *nats.Conn, key string, err error) {
	key, proof, err := t.credentials()
	if err != nil {
		return nil, "", err
	}
	conn, err = nats.Connect(t.url, proof, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(200*time.Millisecond), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	return conn, key, err
}

func encode(m wire.Message) []byte {
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		panic(err) // it was written above
	}
	return data
}

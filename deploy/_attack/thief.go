package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

const nothing = syscall.Signal(0)

// attack is one thing that a thief does until the context ends. With second, a second run is open all the time, and the
// speed is that of both.
type attack struct {
	name, what string
	second     bool
	act        func(ctx context.Context, y *yard)
}

func attacks() []attack {
	garbage := make([]byte, 1<<20)
	flood := func(subject string, m wire.Message) func(context.Context, *yard) {
		return func(ctx context.Context, y *yard) {
			*m.Head() = wire.Header{Run: y.name, From: "mallory", Term: 1, Token: 99}
			if subject == wire.SeekSubject {
				m.Head().Run = wire.Pool
			}
			y.flood(ctx, strings.ReplaceAll(subject, "RUN", y.name), encode(m))
		}
	}
	return []attack{
		{"forged-seek", "`Seek` under the honest workers' ids, with a wrong fingerprint or version", false, forgeSeeks},
		{"phantom", "a phantom with 1,024 slots seeks every 0.7 s, and a second run is open", true, phantom},
		{"phantoms", "1,100 phantoms", false, phantoms},
		{"hello", "flood of `Hello`", false, flood("sy.RUN.control", &wire.Hello{Slots: 1, Numerics: job.Numerics()})},
		{"need", "flood of `Need`", false, flood("sy.RUN.control", &wire.Need{Step: 1, Ranges: []wire.Range{{First: 0, Count: 1}}})},
		{"seek", "flood of `Seek`", false, flood(wire.SeekSubject, &wire.Seek{Slots: 1, Numerics: job.Numerics()})},
		{"chunk", "flood of chunks that nobody asked for", false, flood("sy.RUN.data", &wire.Chunk{Data: make([]byte, 60_000)})},
		{"garbage", "flood of garbage, 1 MiB each", false, func(ctx context.Context, y *yard) { y.flood(ctx, "sy."+y.name+".control", garbage) }},
		{"noise", "flood of garbage, 16 bytes each", false, func(ctx context.Context, y *yard) { y.flood(ctx, "sy."+y.name+".data", garbage[:16]) }},
		{"knock", "connections without a key, as many as go", false, knock},
		{"streams", "64 event streams of the page, opened again and again", false, streams},
	}
}

func encode(m wire.Message) []byte {
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		panic(err)
	}
	return data
}

// enter connects with the stolen key, and comes back whenever it can.
func (y *yard) enter() (conn *nats.Conn, key string) {
	seed, err := os.ReadFile(y.key("worker-thief"))
	if err != nil {
		panic(err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		panic(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		panic(err)
	}
	conn, err = nats.Connect(y.url, nats.Nkey(public, pair.Sign), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(200*time.Millisecond), nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		panic(err)
	}
	return conn, wire.KeyName(public)
}

// flood publishes as fast as the connection takes it.
func (y *yard) flood(ctx context.Context, subject string, data []byte) {
	conn, key := y.enter()
	defer conn.Close()
	for ctx.Err() == nil {
		if conn.Publish(wire.By(subject, key), data) != nil {
			time.Sleep(10 * time.Millisecond) // it was cut off
		}
	}
}

// seek is a sound Seek of a worker that does not exist.
func seek(id string, token, number uint64, slots int) *wire.Seek {
	return &wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: id, Token: token}, Slots: slots, Numerics: job.Numerics(), Number: number,
	}
}

func forgeSeeks(ctx context.Context, y *yard) {
	conn, key := y.enter()
	defer conn.Close()
	for n := uint64(1); ctx.Err() == nil; n++ {
		for _, id := range y.honest() {
			wrong := seek(id, n, n, 1)
			wrong.Numerics[0].Sum++
			_ = conn.Publish(wire.By(wire.SeekSubject, key), encode(wrong))
			old := encode(seek(id, n, n, 1))
			old[1]++
			_ = conn.Publish(wire.By(wire.SeekSubject, key), old)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func phantom(ctx context.Context, y *yard) {
	conn, key := y.enter()
	defer conn.Close()
	for n := uint64(1); ctx.Err() == nil; n++ {
		_ = conn.Publish(wire.By(wire.SeekSubject, key), encode(seek("phantom", 1, n, 1024)))
		time.Sleep(700 * time.Millisecond)
	}
}

func phantoms(ctx context.Context, y *yard) {
	conn, key := y.enter()
	defer conn.Close()
	for n := uint64(1); ctx.Err() == nil; n++ {
		for i := range 1100 {
			_ = conn.Publish(wire.By(wire.SeekSubject, key), encode(seek(fmt.Sprint("phantom", i), uint64(i+1), n, 1024)))
		}
		time.Sleep(700 * time.Millisecond)
	}
}

// knock opens connections that show no key.
func knock(ctx context.Context, y *yard) {
	var held []net.Conn
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(y.url, "nats://"))
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if held = append(held, conn); len(held) > 500 {
			held[0].Close()
			held = held[1:]
		}
	}
	for _, conn := range held {
		conn.Close()
	}
}

// streams holds all event streams of the page.
func streams(ctx context.Context, y *yard) {
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+y.page+"/api/events", nil)
				if err != nil {
					return
				}
				if answer, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

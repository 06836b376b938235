package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// held is how many connections without a key are open at the same time.
const held = 500

// knock opens connections that show no key, so many at a time, and closes the oldest when it has enough.
func knock(parallel int) func(context.Context, *thief) error {
	return func(ctx context.Context, t *thief) error {
		var all sync.WaitGroup
		for range parallel {
			all.Go(func() { t.knock(ctx, max(held/parallel, 1)) })
		}
		all.Wait()
		return nil
	}
}

func (t *thief) knock(ctx context.Context, most int) {
	var own []net.Conn
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", strings.TrimPrefix(t.url, "nats://"))
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if own = append(own, conn); len(own) > most {
			own[0].Close()
			own = own[1:]
		}
	}
	for _, conn := range own {
		conn.Close()
	}
}

// streams holds all event streams of the page.
func streams(ctx context.Context, t *thief) error {
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for ctx.Err() == nil {
				t.stream(ctx)
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	all.Wait()
	return nil
}

// stream reads the page's events until they end.
func (t *thief) stream(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.page+"/api/events", nil)
	if err != nil {
		panic(err) // the address is wrong
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // it ends when others make it
}

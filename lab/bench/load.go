package bench

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// LoadConfig says which run is measured.
type LoadConfig struct {
	Run     coordinator.Config
	Theta   []float32      // parameters of the run; they are not changed
	Program worker.Program // of one slot
	// Connect opens a connection to a broker for one party. The caller closes it.
	Connect func(party string) (wire.Bus, error)
	Turns   int // number of measurements; the median counts
}

// MeasureLoad measures the work of a step on one core of this machine, in seconds of processor time, as
// internal/scaling wants it. Messages go through the broker in this process, so their cost is the processor time
// of all parties. What is measured, in the letters of that package:
//
//	Shard c, Install i     a worker: the gradient of a shard, and the installation of parameters
//	Merge μ, Update a      a coordinator: checks and sum of a block, and an update of the parameters
//	Send κ, Deliver δ      a message: for itself, and for each copy that is delivered
func MeasureLoad(cfg LoadConfig) (scaling.Load, error) {
	l := scaling.Load{Shards: cfg.Run.Shards, Parameters: len(cfg.Theta), Chunk: cfg.Run.Chunk, Credit: cfg.Run.Credit}
	if err := measureWorker(&l, cfg); err != nil {
		return l, err
	}
	if err := measureLead(&l, cfg); err != nil {
		return l, err
	}
	return l, measureMessages(&l, cfg)
}

// seconds is the processor time of a call, on all cores together. Whatever else the process does meanwhile
// counts, too.
func seconds(call func() error) (float64, error) {
	before := worker.ProcessorTime()
	err := call()
	return (worker.ProcessorTime() - before).Seconds(), err
}

// measureWorker measures the installation of parameters and the gradient of a shard, including its addition to
// the sum, which a worker does for each shard of a lease.
func measureWorker(l *scaling.Load, cfg LoadConfig) error {
	grad, sum := make([]float32, l.Parameters), make([]float32, l.Parameters)
	terms := make([]float32, len(cfg.Program.TermNames()))
	var install, shard []float64
	for turn := range uint64(cfg.Turns + 1) {
		t, err := seconds(func() error { return cfg.Program.Load(turn, cfg.Theta) })
		if err != nil {
			return fmt.Errorf("load the parameters: %w", err)
		}
		all, err := seconds(func() error {
			for s := range l.Shards {
				if err := cfg.Program.Gradient(0, turn, s, grad, terms); err != nil {
					return fmt.Errorf("gradient of shard %d: %w", s, err)
				}
				kernel.Add(sum, grad)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if turn > 0 { // the first turn warms up
			install, shard = append(install, t), append(shard, all/float64(l.Shards))
		}
	}
	l.Install, l.Shard = spread(install).Median, spread(shard).Median
	return nil
}

// measureLead measures the work of the coordinator for a block, which is checked and added to the tree, and for
// an update, with the checksums of the parameters that go out.
func measureLead(l *scaling.Load, cfg LoadConfig) error {
	tree := vector.NewTree(vector.Block{Count: 2})
	one, two := make([]float32, l.Parameters), make([]float32, l.Parameters)
	theta := append([]float32(nil), cfg.Theta...)
	for i := range one {
		one[i], two[i] = 1e-4, 1e-4
	}
	o, chunks := vector.NewAdam(cfg.Run.Optimizer, l.Parameters), wire.NewChunking(l.Parameters, l.Chunk)
	var merge, update []float64
	for turn := range cfg.Turns + 1 {
		m, _ := seconds(func() error {
			for i, v := range [][]float32{one, two} {
				kernel.Finite(v)
				tree.Add(vector.Block{First: i, Count: 1}, vector.Partial{Values: v}, func(vector.Partial) {})
			}
			return nil
		})
		tree.Reset(vector.Block{Count: 2}, func(vector.Partial) {})
		u, err := seconds(func() error {
			if _, _, err := o.Update(theta, one, l.Shards, uint64(turn)); err != nil {
				return fmt.Errorf("update: %w", err)
			}
			for i := range chunks.Count() {
				from, to := chunks.Span(i)
				wire.Checksum(wire.FloatBytes(theta[from:to]))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if turn > 0 {
			merge, update = append(merge, m/2), append(update, u)
		}
	}
	l.Merge, l.Update = spread(merge).Median, spread(update).Median
	return nil
}

// copies is the number of receivers of a message in the second measurement, which separates the cost of a copy from
// that of the message.
const copies = 4

// measureMessages measures messages with parameters, to one receiver and to several. A message to k receivers
// costs C_k = κ + k·δ; so with C₁ and C_k the time per message, δ = (C_k − C₁)/(k − 1) and κ = C₁ − δ, which are
// Deliver and Send. Differences below 0, by noise, count as 0.
func measureMessages(l *scaling.Load, cfg LoadConfig) error {
	from, err := cfg.Connect("coordinator")
	if err != nil {
		return err
	}
	post := &post{from: from, load: l, theta: cfg.Theta, encoder: wire.NewEncoder()}
	for i := range copies {
		bus, err := cfg.Connect(fmt.Sprintf("worker %d", i+1))
		if err != nil {
			return err
		}
		post.to = append(post.to, bus)
	}
	var send, deliver []float64
	for turn := range cfg.Turns + 1 {
		single, err := post.each(1)
		if err != nil {
			return err
		}
		several, err := post.each(copies)
		if err != nil {
			return err
		}
		if turn > 0 {
			d := math.Max(0, (several-single)/(copies-1))
			send, deliver = append(send, math.Max(0, single-d)), append(deliver, d)
		}
	}
	l.Send, l.Deliver = spread(send).Median, spread(deliver).Median
	return nil
}

// post sends parameters as a coordinator does, to receivers that take them as a worker does.
type post struct {
	from    wire.Bus
	to      []wire.Bus
	load    *scaling.Load
	theta   []float32
	encoder *wire.Encoder
}

// sendings is the number of vectors that are sent one after the other, so that the time is long enough to measure.
const sendings = 8

// arrival is the longest time for a vector to arrive.
const arrival = time.Minute

// each is the processor time per message with that many receivers, in seconds: encoding, the broker, decoding,
// and the copy to where the receiver wants it.
func (p *post) each(receivers int) (float64, error) {
	chunks := wire.NewChunking(p.load.Parameters, p.load.Chunk)
	var arrived sync.WaitGroup
	for _, bus := range p.to[:receivers] {
		values := make([]float32, p.load.Parameters)
		sub, err := bus.Subscribe("sy.bench.theta", func(data []byte) {
			if msg, err := wire.Decode(data); err == nil {
				if t := msg.(*wire.Theta); wire.Checksum(t.Data) == t.CRC {
					a, b := chunks.Span(t.Index)
					wire.GetFloats(values[a:b], t.Data)
				}
			}
			arrived.Done()
		})
		if err != nil {
			return 0, fmt.Errorf("subscribe: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection is closed soon anyway
	}
	t, err := seconds(func() error {
		for range sendings {
			arrived.Add(receivers * chunks.Count())
			if err := p.send(chunks, &arrived); err != nil {
				return err
			}
		}
		return nil
	})
	return t / float64(sendings*chunks.Count()), err
}

// send publishes a vector and waits until all copies have arrived. It is an error if they do not within arrival.
func (p *post) send(chunks wire.Chunking, arrived *sync.WaitGroup) error {
	for i := range chunks.Count() {
		from, to := chunks.Span(i)
		part := wire.FloatBytes(p.theta[from:to])
		data, err := p.encoder.Encode(&wire.Theta{
			Header: wire.Header{Run: "bench"}, Index: i, Count: chunks.Count(), CRC: wire.Checksum(part), Data: part,
		})
		if err == nil {
			err = p.from.Publish("sy.bench.theta", data)
		}
		if err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	done := make(chan struct{})
	go func() { arrived.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(arrival):
		return fmt.Errorf("messages of the measurement did not arrive within %v", arrival)
	}
}

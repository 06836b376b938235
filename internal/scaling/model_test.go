package scaling

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// load is easy to reckon with: 4 MB of parameters in 100 messages.
var load = Load{
	Shards: 8, Parameters: 1e6, Shard: 0.1, Install: 0.002, Merge: 0.001, Update: 0.01,
	Send: 1e-5, Deliver: 2e-5, Chunk: 4e4, Credit: 16e6,
}

// four workers of one core on machines of their own, links of 10 MB/s.
var four = Cluster{Workers: 4, Slots: 1, Machines: 4, Cores: 1, Link: 1e7}

func near(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(y) }

func TestWaves(t *testing.T) {
	for _, c := range []struct {
		shards, workers int
		want            []wave
	}{
		{8, 1, []wave{{1, 8}}},
		{8, 3, []wave{{3, 2}, {2, 1}}},
		{8, 5, []wave{{5, 1}, {3, 1}}},
		{8, 8, []wave{{8, 1}}},
		{4, 100, []wave{{4, 1}}},
		{16, 3, []wave{{3, 4}, {3, 1}, {1, 1}}},
	} {
		if got := waves(c.shards, c.workers); !slices.Equal(got, c.want) {
			t.Errorf("%d shards, %d workers: got %v, want %v", c.shards, c.workers, got, c.want)
		}
	}
}

// The sums are written out: parameters out, and installed; compute; gradients in; update.
func TestPredict(t *testing.T) {
	with := func(change func(*Cluster)) Cluster {
		c := four
		change(&c)
		return c
	}
	for _, c := range []struct {
		name                      string
		cluster                   Cluster
		wire                      Wire
		down, compute, up, update float64
		bottleneck                Resource
	}{
		{"star", four, Float32, 4*0.4 + 0.002, 2 * 0.1, 4 * 0.4, 0.01, Uplink},
		{"int16", four, Int16, 4*0.4 + 0.002, 2 * 0.1, 4 * 0.2, 0.01, Uplink},
		{"delta8", four, Wire{Bytes: 4, Parameters: 1}, 4*0.1 + 0.002, 2 * 0.1, 4 * 0.4, 0.01, Downlink},
		{"latency", with(func(c *Cluster) { c.Latency = 2 }), Float32, 2 + 1.6 + 0.002, 0.2, 6 + 16.0/16*4, 0.01, Delay},
		{"two waves hide some of the way", with(func(c *Cluster) { c.Workers, c.Machines = 3, 3 }), Float32, 3*0.4 + 0.002, 0.2 + 0.1, 5*0.4 - 0.1, 0.01, Downlink},
		{"more workers than shards", with(func(c *Cluster) { c.Workers, c.Machines = 16, 16 }), Float32, 16*0.4 + 0.002, 0.1, 8 * 0.4, 0.01, Uplink},
		{"two slots", with(func(c *Cluster) { c.Workers, c.Machines, c.Slots, c.Cores = 2, 2, 2, 2 }), Float32, 2*0.4 + 0.002, 2 * 0.1, 2 * 0.4, 0.01, Uplink},
		{"machines with two workers on one core", with(func(c *Cluster) { c.Machines = 2 }), Float32, 4*0.4 + 2*0.002, 2 * 0.2, 4 * 0.4, 0.01, Uplink},
		{"leaf nodes", with(func(c *Cluster) { c.Machines, c.Leaf, c.Cores = 2, true, 2 }), Float32, 2*0.4 + 0.002, 0.2, 1.6, 0.01, Downlink},
		{"two brokers", with(func(c *Cluster) { c.Brokers = 2 }), Float32, 3*0.4 + 0.002, 0.2, 1.6, 0.01, Downlink},
		{"fast link", with(func(c *Cluster) { c.Link = 1e15 }), Float32, 100*1e-5 + 4*100*1e-5 + 0.002, 0.2, 4 * (100*1e-5 + 0.001), 0.01, Cores},
		{"one machine", Cluster{Workers: 4, Slots: 1, Machines: 1, Cores: 2, OneMachine: true}, Float32, (100*1e-5+400*2e-5)/2 + 2*0.002, 2 * 0.1 * 2, 4 * (100*3e-5 + 0.001) / 2, 0.01, Cores},
		{"local steps", four, LocalSteps(4, 10), (1.6 + 0.002) / 10, 2*0.1 + 0.01, 1.6 / 10, 0.001, Cores},
	} {
		if err := Check(load, c.cluster, c.wire); err != nil {
			t.Fatal(err)
		}
		p := Predict(load, c.cluster, c.wire)
		if !near(p.Down, c.down) || !near(p.Compute, c.compute) || !near(p.Up, c.up) || !near(p.Update, c.update) || !near(p.Seconds, c.down+c.compute+c.up+c.update) {
			t.Errorf("%s: got %+v, want %g + %g + %g + %g", c.name, p, c.down, c.compute, c.up, c.update)
		}
		if p.Bottleneck != c.bottleneck {
			t.Errorf("%s: got %s, want %s", c.name, p.Bottleneck, c.bottleneck)
		}
	}
}

func TestCheck_RefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Load, *Cluster, *Wire){
		"shards":   func(l *Load, _ *Cluster, _ *Wire) { l.Shards = 0 },
		"times":    func(l *Load, _ *Cluster, _ *Wire) { l.Update = -1 },
		"workers":  func(_ *Load, c *Cluster, _ *Wire) { c.Workers = 0 },
		"machines": func(_ *Load, c *Cluster, _ *Wire) { c.Machines = 5 },
		"one":      func(_ *Load, c *Cluster, _ *Wire) { c.OneMachine = true },
		"link":     func(_ *Load, c *Cluster, _ *Wire) { c.Link = 0 },
		"form":     func(_ *Load, _ *Cluster, w *Wire) { w.Parameters = 0 },
		"replicas": func(_ *Load, _ *Cluster, w *Wire) { *w = LocalSteps(3, 10) },
	} {
		l, c, w := load, four, Float32
		if change(&l, &c, &w); Check(l, c, w) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestChoices(t *testing.T) {
	changes := func(c Cluster, w Wire) (list []string) {
		for _, x := range Choices(load, c, w) {
			list = append(list, x.Change)
		}
		return list
	}
	fast, heavy := four, load
	fast.Link, heavy.Shard = 1e12, 1
	if got := Choices(heavy, fast, Float32); len(got) != 0 {
		t.Errorf("nothing but the gradients takes time, yet it proposes %v", got)
	}
	// One worker: 0.402 + 0.8 + 0.4 + 0.01 = 1.612 of 3.412 s; int16, and delta16: 2.612; 4 replicas: (3.212 + 16·0.21)/16 = 0.411;
	// two brokers: 3.012; sums: 0.402 + 0.2 + 0.7 + 0.01.
	want := []string{"train.method=diloco with 4 replicas, 16 local steps", "cluster.exchange=sharded with a server in each worker", "only 1 worker", "train.gradients=int16", "train.parameters=delta16", "a cluster of 2 brokers"}
	if got := changes(four, Float32); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	crowded := Cluster{Workers: 16, Slots: 1, Machines: 4, Cores: 4, Link: 1e7}
	for _, want := range []string{"one worker of 4 slots on each machine", "a leaf node on each machine"} {
		if got := changes(crowded, Int16); !slices.Contains(got, want) {
			t.Errorf("got %q, which lack %q", got, want)
		}
	}
	many := Cluster{Workers: 16, Slots: 1, Machines: 16, Cores: 1, Link: 1e12}
	if got := changes(many, Float32); !slices.Contains(got, "train.shards=16") {
		t.Errorf("16 workers, 8 shards: got %q", got)
	}
	bounded := load
	bounded.MostShards = 8
	for _, x := range Choices(bounded, many, Float32) {
		if x.Change == "train.shards=16" {
			t.Error("a batch that divides into 8 shards is to have 16")
		}
	}
	// Gradients of 8 bits have room for 32 shards, those of 16 bits for 256.
	for w, most := range map[Wire]int{Int8: 32, Int16: 256} {
		full, wide := load, many
		full.Shards, full.Shard, wide.Workers, wide.Machines = most, 10, 2*most, 2*most
		for _, x := range Choices(full, wide, w) {
			if strings.HasPrefix(x.Change, "train.shards=") {
				t.Errorf("gradients of %g bytes: %s", w.Bytes, x.Change)
			}
		}
	}
	bounded.Shards, bounded.MostShards = 512, 512
	for _, x := range Choices(bounded, four, Float32) {
		if x.Change == "train.gradients=int16" {
			t.Error("512 shards are to be summed in 16 bits")
		}
	}
}

// TestChoices_LocalSteps: they are predicted with all else that the run has, but send float32.
func TestChoices_LocalSteps(t *testing.T) {
	delta, sums, plain := Float32, Float32, "train.method=diloco with 4 replicas, 16 local steps"
	delta.Parameters, sums.Sharded = 2, true
	carried := four
	carried.Carried = true
	for _, c := range []struct {
		cluster Cluster
		wire    Wire
		change  string
	}{
		{four, Float32, plain}, {four, delta, plain}, {carried, sums, plain}, {four, Int16, "train.gradients=float32 and " + plain},
	} {
		wire := c.wire
		wire.Bytes, wire.LocalSteps, wire.Replicas = 4, 16, 4
		want := Choice{c.change, Predict(load, c.cluster, wire).Seconds}
		if got := Choices(load, c.cluster, c.wire); !slices.Contains(got, want) {
			t.Errorf("%+v: got %v, which lack %v", c.wire, got, want)
		}
	}
}

// Workers that sum, with servers of their own: what each part takes is written out. A gradient is 4 MB in 100 messages,
// of 0.4 s on a link.
func TestPredict_Sharded(t *testing.T) {
	sums := Float32
	sums.Sharded = true
	for _, c := range []struct {
		name       string
		change     func(*Cluster)
		up         float64
		bottleneck Resource
	}{
		{"four workers", func(*Cluster) {}, 0.4*3/4 + 0.4, Uplink},
		{"one worker", func(c *Cluster) { c.Workers, c.Machines = 1, 1 }, 8.0/8*0.004 + 0.4, Cores},
		{"blocks that are not shared out evenly", func(c *Cluster) { c.Workers, c.Machines = 5, 5 }, 2*0.4*4/5 + 0.4, WorkerLink},
		{"more workers than blocks", func(c *Cluster) { c.Workers, c.Machines = 16, 16 }, 0.4*15/16 + 0.4, Uplink},
		{"two on each machine", func(c *Cluster) { c.Machines = 2 }, 2*0.4*2/4 + 0.4, WorkerLink},
		{"latency", func(c *Cluster) { c.Latency = 2 }, 0.4*3/4 + 4*2 + 4e6*2*2/16e6 + 3*2, Delay},
		{"one broker", func(c *Cluster) { c.Carried = false }, 4*0.4*3/4 + 0.4, Uplink},
		{"one machine", func(c *Cluster) { c.Machines, c.OneMachine, c.Cores = 1, true, 2 }, 4*0.004/2 + 0.004/2, Cores},
	} {
		cluster := four
		cluster.Carried = true
		c.change(&cluster)
		p := Predict(load, cluster, sums)
		if !near(p.Up, c.up) || p.Bottleneck != c.bottleneck {
			t.Errorf("%s: %.6f s, want %.6f; %s, want %s", c.name, p.Up, c.up, p.Bottleneck, c.bottleneck)
		}
		if s := Simulate(load, cluster, sums, Stragglers{}, Speculation{}, 1, 3); !near(s.Seconds, p.Seconds) || !near(s.Up, p.Up) {
			t.Errorf("%s: simulated %.6f s, predicted %.6f s", c.name, s.Seconds, p.Seconds)
		}
	}
}

// Where workers that sum have servers of their own they hand on the parameters, 4 MB and 0.4 s on a link: one copy leaves
// the coordinator, and what a worker sends is no more.
func TestPredict_Relayed(t *testing.T) {
	sums := Float32
	sums.Sharded = true
	for _, c := range []struct {
		name   string
		change func(*Cluster)
		down   float64
	}{
		{"four workers", func(*Cluster) {}, 0.4},
		{"one worker", func(c *Cluster) { c.Workers, c.Machines = 1, 1 }, 0.4},
		{"two on each machine", func(c *Cluster) { c.Machines = 2 }, 2 * 0.4},
		{"more workers than chunks", func(c *Cluster) { c.Workers, c.Machines = 400, 400 }, 399 * 0.4 / 100},
		{"latency", func(c *Cluster) { c.Latency = 2 }, 0.4 + 2*2},
		{"one broker", func(c *Cluster) { c.Carried = false }, 4 * 0.4},
	} {
		cluster := four
		cluster.Carried = true
		c.change(&cluster)
		if p := Predict(load, cluster, sums); !near(p.Down, c.down+load.Install*cluster.crowd(cluster.Workers)) {
			t.Errorf("%s: %.6f s, want %.6f", c.name, p.Down, c.down)
		}
	}
}

// What comes to the coordinator does not grow with the workers where they sum, and does in a star.
func TestPredict_ShardedDoesNotGrow(t *testing.T) {
	sums, many := Float32, four
	sums.Sharded = true
	many.Workers, many.Machines, many.Carried = 256, 256, true
	shards := load
	shards.Shards = 256
	few := four
	few.Carried = true
	if a, b := Predict(shards, many, sums).Up, Predict(shards, few, sums).Up; a > 2*b {
		t.Errorf("%.2f s with 256 workers, %.2f s with 4", a, b)
	}
	if a, b := Predict(shards, many, Float32).Up, Predict(shards, few, Float32).Up; a < 32*b {
		t.Errorf("a star: %.2f s with 256 workers, %.2f s with 4", a, b)
	}
}

// By what is predicted, sums pay with servers in the workers, and neither for one worker nor with one broker.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		workers int
		carried bool
		want    bool
	}{{1, true, false}, {4, true, true}, {4, false, false}} {
		cluster := four
		cluster.Workers, cluster.Machines, cluster.Carried = c.workers, c.workers, c.carried
		if got := Sums(load, cluster, Float32); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

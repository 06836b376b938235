package scaling

import (
	"fmt"
	"math"
	"math/bits"
)

// The letters in comments are those of the package comment. A part of a step is a transfer, or work of cores.
// Each resource that a transfer needs gets the time for which it alone would be busy; the greatest of these, plus
// latency, is the time of the part. How long each resource was the slowest, over all parts, says what limits the
// step.

// Load is the work of a step, measured on one core. Times are in seconds of processor time. It is measured by
// lab/bench, and does not depend on the cluster.
type Load struct {
	Shards     int     `json:"shards"`          // S
	Parameters int     `json:"parameters"`      // P
	Shard      float64 `json:"shard_seconds"`   // c, the gradient of a shard
	Install    float64 `json:"install_seconds"` // i, at each worker
	Merge      float64 `json:"merge_seconds"`   // μ, of a block at the coordinator
	Update     float64 `json:"update_seconds"`  // a, at the coordinator
	Send       float64 `json:"send_seconds"`    // κ
	Deliver    float64 `json:"deliver_seconds"` // δ
	Chunk      int     `json:"chunk_bytes"`     // M
	Credit     int     `json:"credit_bytes"`    // C
	MostShards int     `json:"most_shards"`     // most shards that the batch can be divided into; 0: not known
}

// Cluster describes the machines of a run.
type Cluster struct {
	Workers    int     `json:"workers"`  // W, all equal
	Slots      int     `json:"slots"`    // s, shards that a worker computes at the same time
	Machines   int     `json:"machines"` // H, with equal numbers of workers as far as possible
	Cores      int     `json:"cores"`    // K, of each machine, including the one of coordinator and broker
	OneMachine bool    `json:"one_machine"`
	Link       float64 `json:"link_bytes_per_second"` // b
	Latency    float64 `json:"latency_seconds"`       // ℓ
	Leaf       bool    `json:"leaf"`                  // a leaf node of the broker on each machine
	Brokers    int     `json:"brokers"`               // B, in a cluster; 0 and 1: a single one
	Carried    bool    `json:"carried"`               // each worker carries a broker, and all are one cluster
}

// Wire is the form of vectors on the wire.
type Wire struct {
	Bytes      float64 `json:"bytes_per_parameter"` // of a gradient
	Parameters float64 `json:"parameter_bytes"`     // of a parameter: 4, or those of a difference
	LocalSteps int     `json:"local_steps"`         // updates between exchanges; 0 and 1: gradients of each update are exchanged
	Replicas   int     `json:"replicas"`            // that make local steps
	Sharded    bool    `json:"sharded"`             // workers sum the gradient
}

// Float32 is the default; Int16 halves the bytes of gradients, Int8 quarters them.
var (
	Float32 = Wire{Bytes: 4, Parameters: 4}
	Int16   = Wire{Bytes: 2, Parameters: 4}
	Int8    = Wire{Bytes: 1, Parameters: 4}
)

// LocalSteps is the wire of DiLoCo: replicas that make so many updates between exchanges of float32.
func LocalSteps(replicas, steps int) Wire {
	return Wire{Bytes: 4, Parameters: 4, LocalSteps: steps, Replicas: replicas}
}

// Resource is what limits a part of the step.
type Resource string

// The resources.
const (
	Cores       Resource = "cores of the workers"
	Uplink      Resource = "link of the coordinator, outward"
	Downlink    Resource = "link of the coordinator, inward"
	WorkerLink  Resource = "links of the workers"
	Coordinator Resource = "coordinator and broker"
	Delay       Resource = "latency"
)

// Prediction is the time of one update and its parts, in seconds.
type Prediction struct {
	Seconds    float64  `json:"seconds"`
	Down       float64  `json:"down_seconds"`    // transfer of parameters to the workers, and their installation
	Compute    float64  `json:"compute_seconds"` // gradients
	Up         float64  `json:"up_seconds"`      // transfer of gradients to the coordinator that does not overlap with computation
	Update     float64  `json:"update_seconds"`  // of the coordinator, after the last block
	Bottleneck Resource `json:"bottleneck"`      // resource of the longest part

	bySource map[Resource]float64 // seconds in which each resource was what a part waited for
}

// Messages is the part of the time in which no gradient is computed: Down + Up + Update.
func (p Prediction) Messages() float64 { return p.Seconds - p.Compute }

// Check returns what is wrong with the numbers: the first problem that it finds, or nil.
func Check(l Load, c Cluster, w Wire) error {
	switch {
	case l.Shards < 1 || l.Parameters < 1 || l.Chunk < 1 || l.Credit < 1:
		return fmt.Errorf("scaling: %d shards, %d parameters, chunks of %d and credit of %d bytes: all have to be positive",
			l.Shards, l.Parameters, l.Chunk, l.Credit)
	case l.Shard <= 0 || min(l.Install, l.Merge, l.Update, l.Send, l.Deliver) < 0:
		return fmt.Errorf("scaling: times have to be positive: %+v", l)
	case c.Workers < 1 || c.Slots < 1 || c.Machines < 1 || c.Machines > c.Workers || c.Cores < 1:
		return fmt.Errorf("scaling: %d workers of %d slots on %d machines of %d cores: at least one of each is needed, "+
			"and no machine without worker", c.Workers, c.Slots, c.Machines, c.Cores)
	case c.OneMachine && c.Machines != 1:
		return fmt.Errorf("scaling: all is on one machine, but there are %d", c.Machines)
	case !c.OneMachine && c.Link <= 0 || c.Latency < 0 || c.Brokers < 0:
		return fmt.Errorf("scaling: a link of %g bytes per second with a latency of %g s, %d brokers", c.Link, c.Latency,
			c.Brokers)
	case w.Bytes <= 0 || w.Parameters <= 0 || w.LocalSteps > 1 && (w.Replicas < 1 || l.Shards%w.Replicas != 0):
		return fmt.Errorf("scaling: %g bytes per parameter of a gradient, %g of the parameters; %d replicas for %d "+
			"shards: they have to divide them", w.Bytes, w.Parameters, w.Replicas, l.Shards)
	}
	return nil
}

// local turns exchanges after h updates into a step whose shards are the R replicas, each with h updates of S/R
// shards:
//
//	S ← R,  c ← h·(c·S/R + a)
//
// Predictions of such a step are divided by h in the end.
func (l Load) local(w Wire) Load {
	if w.LocalSteps > 1 {
		l.Shard = float64(w.LocalSteps) * (l.Shard*float64(l.Shards/w.Replicas) + l.Update)
		l.Shards = w.Replicas
	}
	return l
}

// wave is one lease for each worker, or for as many as there are shards for. shards is the size of each lease.
type wave struct{ leases, shards int } // shards of each lease

// waves are the leases of a step for equal workers, the largest first: while r shards are left, each of W workers
// gets a lease of 2^⌊log₂(r/W)⌋, at least 1. Sizes are powers of two, because blocks are nodes of the tree by
// which gradients are summed.
func waves(shards, workers int) (all []wave) {
	for shards > 0 {
		size := 1 << (bits.Len(uint(max(1, shards/workers))) - 1)
		w := wave{min(workers, shards/size), size}
		all = append(all, w)
		shards -= w.leases * w.shards
	}
	return all
}

// Predict returns the time of an update without stragglers. The arguments have to pass Check. With local steps
// all parts are those of one update in the mean.
func Predict(l Load, c Cluster, w Wire) Prediction {
	l = l.local(w)
	all := waves(l.Shards, c.Workers)
	p := Prediction{Update: l.Update, bySource: map[Resource]float64{}}
	p.add(&p.Down, c.down(l, w))
	p.Down += l.Install * c.crowd(c.Workers)
	blocks, first := 0, 0.0
	for i, w := range all {
		blocks += w.leases
		t := float64((w.shards+c.Slots-1)/c.Slots) * l.Shard * c.crowd(w.leases*min(c.Slots, w.shards))
		if p.Compute += t; i == 0 {
			first = t
		}
	}
	// Where workers sum, nothing is pulled before all blocks are announced: both parts follow the computation.
	if w.Sharded {
		sum, gather := c.shared(l, w, blocks)
		p.add(&p.Up, sum)
		p.add(&p.Up, gather)
		return p.end(l, w)
	}
	// Blocks of all waves but the last travel while the next wave is computed. What cannot travel in that time is
	// left at the end, and at least the blocks of the last wave are.
	whole, last := c.up(l, w, blocks), c.up(l, w, all[len(all)-1].leases)
	if rest := p.Compute - first; whole.seconds-rest > last.seconds {
		last = whole
		last.seconds -= rest
	}
	p.add(&p.Up, last)
	return p.end(l, w)
}

// end adds the parts up. Installation and update are work of cores and coordinator.
func (p Prediction) end(l Load, w Wire) Prediction {
	p.bySource[Cores] += p.Compute + l.Install
	p.bySource[Coordinator] += p.Update
	p.Seconds = p.Down + p.Compute + p.Up + p.Update
	if h := float64(w.LocalSteps); h > 1 {
		p.Seconds, p.Down, p.Compute, p.Up, p.Update = p.Seconds/h, p.Down/h, p.Compute/h, p.Up/h, p.Update/h
	}
	p.bottleneck()
	return p
}

// bottleneck finds the resource of the longest part.
func (p *Prediction) bottleneck() {
	p.Bottleneck = Cores
	for _, r := range []Resource{Uplink, Downlink, WorkerLink, Coordinator, Delay} {
		if p.bySource[r] > p.bySource[p.Bottleneck] {
			p.Bottleneck = r
		}
	}
}

// transfer is a part of the step in which messages go in one direction. It lasts as long as the slowest resource,
// by, plus the latency.
type transfer struct {
	seconds float64 // without latency
	by      Resource
	latency float64
}

// add lengthens a part by a transfer.
func (p *Prediction) add(part *float64, t transfer) {
	*part += t.seconds + t.latency
	p.bySource[t.by] += t.seconds
	p.bySource[Delay] += t.latency
}

// slower keeps the resource that takes longer. Of equals, the one that was there.
func (t *transfer) slower(seconds float64, by Resource) {
	if seconds > t.seconds {
		t.seconds, t.by = seconds, by
	}
}

// crowd is the factor by which work slows down if that many threads share the cores of the machines: max(1,
// threads of a machine/K). Threads are on as many machines as possible.
func (c Cluster) crowd(threads int) float64 {
	each := float64(threads) / float64(min(c.Machines, threads))
	return max(1, each/float64(c.Cores))
}

// chunks is the number of messages for a vector. The last may be shorter; it counts as one.
func (l Load) chunks(bytesPerParameter float64) float64 {
	return math.Ceil(bytesPerParameter * float64(l.Parameters) / float64(l.Chunk))
}

// down is the transfer of the parameters to the workers, T_down of the package comment without i. Differences are
// as many messages as the values, and shorter ones.
func (c Cluster) down(l Load, w Wire) transfer {
	n, workers, cores := l.chunks(4), float64(c.Workers), float64(c.Cores)
	t := transfer{by: Coordinator}
	t.slower(n*l.Send, Coordinator)
	if c.OneMachine {
		t.slower((n*l.Send+workers*n*l.Deliver)/cores, Coordinator)
		return t
	}
	bytes, each := w.Parameters*float64(l.Parameters), math.Ceil(workers/float64(c.Machines))
	copies := workers
	t.latency = c.Latency
	switch {
	// One copy goes out in sections, and each worker passes its section to the others.
	case c.relays(w):
		hands := min(workers, n) // a section is a chunk at least
		copies, t.latency = 1, 2*c.Latency
		t.slower(each*bytes*(workers-each)/hands/c.Link, WorkerLink)
		t.slower(each*n*(workers-1)/hands*(l.Send+l.Deliver/2)/cores, Cores)
	case c.Leaf:
		copies = float64(c.Machines)
	// The coordinator's broker serves its share of the workers, and each other broker once.
	case c.Brokers > 1:
		copies = math.Ceil(workers/float64(c.Brokers)) + float64(c.Brokers) - 1
	}
	t.slower(copies*bytes/c.Link, Uplink)
	t.slower((n*l.Send+copies*n*l.Deliver/2)/cores, Coordinator)
	t.slower(each*n*l.Deliver/2/cores, Cores)
	if !c.Leaf {
		t.slower(each*bytes/c.Link, WorkerLink)
	}
	return t
}

// relays reports whether workers hand on the parameters, so that one copy of them leaves the coordinator.
func (c Cluster) relays(w Wire) bool { return w.Sharded && c.Carried && c.Workers > 1 }

// up is the transfer of so many blocks to the coordinator in a star, T_up of the package comment, as if nothing
// else went on.
func (c Cluster) up(l Load, w Wire, blocks int) transfer {
	n, count := l.chunks(w.Bytes), float64(blocks)
	t := transfer{by: Coordinator}
	t.slower(count*(n*l.Deliver/2+l.Merge), Coordinator)
	if c.OneMachine {
		t.slower(count*(n*(l.Send+l.Deliver)+l.Merge)/float64(c.Cores), Coordinator)
		return t
	}
	bytes := w.Bytes * float64(l.Parameters)
	t.latency = 3 * c.Latency
	t.slower(count*bytes/c.Link, Downlink)
	t.slower(count*bytes*2*c.Latency/float64(l.Credit), Delay)
	return t
}

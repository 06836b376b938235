package scaling

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Choice is a change to a run or its cluster, in words or as the setting that makes it, with the predicted time
// of an update in seconds.
type Choice struct {
	Change  string  `json:"change"`
	Seconds float64 `json:"seconds"`
}

const (
	// worthwhile is the share of the time that a change has to save.
	worthwhile = 0.05
	// localSteps is a number of local steps that makes messages cheap and stays close to a synchronous run.
	localSteps = 16
	// floats is what local steps need where gradients travel as integers.
	floats = "train.gradients=float32 and "
	// The largest numbers of shards whose sums fit into integers of one and two bytes (internal/vector).
	byteShards, integerShards = 32, 256
)

// Choices are the changes that would save at least a twentieth of the time of an update, without stragglers, the
// best first. Each is predicted by itself: what several save together is not the sum. What a run does already, or
// cannot do beside what it does, is not among them. The arguments have to pass Check.
func Choices(l Load, c Cluster, w Wire) []Choice {
	var all []Choice
	try := func(change string, l Load, c Cluster, w Wire) {
		all = append(all, Choice{change, Predict(l, c, w).Seconds})
	}
	// With fewer shards than workers, some workers have nothing to do.
	shards := min(powerAbove(c.Workers), w.mostShards())
	if l.MostShards > 0 {
		shards = min(shards, l.MostShards)
	}
	if w.LocalSteps <= 1 && l.Shards < shards {
		finer := l
		finer.Shards, finer.Shard = shards, l.Shard*float64(l.Shards)/float64(shards)
		try(fmt.Sprintf("train.shards=%d", shards), finer, c, w)
	}
	if n, seconds := best(l, c, w); n < c.Workers {
		all = append(all, Choice{fmt.Sprintf("only %s", terminal.Count(n, "worker")), seconds})
	}
	if w.Bytes == 4 && w.LocalSteps <= 1 && l.Shards <= integerShards {
		integers := w
		integers.Bytes = 2
		try("train.gradients=int16", l, c, integers)
	}
	if w.Parameters == 4 && w.LocalSteps <= 1 {
		differences := w
		differences.Parameters = 2
		try("train.parameters=delta16", l, c, differences)
	}
	if replicas := powerBelow(min(c.Workers*c.Slots, l.Shards)); w.LocalSteps <= 1 && replicas > 1 {
		change, local := inLocalSteps(w, replicas)
		try(change, l, c, local)
	}
	// Workers that share a machine can share one copy of the parameters.
	if !c.OneMachine && c.Workers > c.Machines {
		each := (c.Workers + c.Machines - 1) / c.Machines
		relay := c
		relay.Workers, relay.Slots = c.Machines, c.Slots*each
		try(fmt.Sprintf("one worker of %s on each machine", terminal.Count(relay.Slots, "slot")), l, relay, w)
		leaf := c
		leaf.Leaf = true
		try("a leaf node on each machine", l, leaf, w)
	}
	if !c.OneMachine && !c.Leaf && c.Brokers <= 1 && w.LocalSteps <= 1 && !(w.Sharded && c.Carried) {
		carried, sums := c, w
		carried.Carried, sums.Sharded = true, true
		try("cluster.exchange=sharded with a server in each worker", l, carried, sums)
	}
	if !c.OneMachine && !c.Leaf && !c.Carried && c.Brokers <= 1 {
		cluster := c
		cluster.Brokers = int(math.Ceil(math.Sqrt(float64(c.Workers))))
		try(fmt.Sprintf("a cluster of %d brokers", cluster.Brokers), l, cluster, w)
	}
	now := Predict(l, c, w).Seconds
	all = slices.DeleteFunc(all, func(x Choice) bool { return x.Seconds > (1-worthwhile)*now })
	slices.SortStableFunc(all, func(x, y Choice) int { return int(math.Copysign(1, x.Seconds-y.Seconds)) })
	return all
}

// inLocalSteps is what lets a run make local steps, and its wire then: all else is as it was, but that what replicas
// have moved does not travel as integers.
func inLocalSteps(w Wire, replicas int) (change string, local Wire) {
	change = fmt.Sprintf("train.method=diloco with %s, %d local steps", terminal.Count(replicas, "replica"), localSteps)
	if w.Bytes != Float32.Bytes {
		change = floats + change
	}
	w.Bytes, w.LocalSteps, w.Replicas = Float32.Bytes, localSteps, replicas
	return change, w
}

// mostShards is how many shards there may be, whose gradients are added up in the form in which they travel.
func (w Wire) mostShards() int {
	switch w.Bytes {
	case Int8.Bytes:
		return byteShards
	case Int16.Bytes:
		return integerShards
	}
	return math.MaxInt
}

// best is the number of workers, up to those that exist, with the shortest update, and its time. Machines keep as
// many workers as they have, and those without any are left out. Of equals it is the smallest.
func best(l Load, c Cluster, w Wire) (workers int, seconds float64) {
	each := (c.Workers + c.Machines - 1) / c.Machines
	for n := 1; n <= c.Workers; n++ {
		some := c
		some.Workers, some.Machines = n, min(c.Machines, (n+each-1)/each)
		if t := Predict(l, some, w).Seconds; workers == 0 || t < seconds {
			workers, seconds = n, t
		}
	}
	return workers, seconds
}

// powerBelow is the greatest power of two that is at most n, for n ≥ 1.
func powerBelow(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// powerAbove is the least power of two that is at least n, for n ≥ 1.
func powerAbove(n int) int { return 1 << bits.Len(uint(n-1)) }

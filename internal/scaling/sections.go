package scaling

import "math"

// shared is the way of a gradient that workers sum, after all blocks are announced: first each pulls its sections, a
// W-th of the gradient, of the blocks of others, and then the coordinator pulls the sums. With N blocks of D' bytes and
// e workers on each machine, whose links have b bytes per second,
//
//	T_sum    = e·⌈N/W⌉·D'·(W−e)/(W·b) for a machine of holders, or if longer e·N·D'·(W−e)/(W²·b) for one that sums,
//	           or the processor time of messages and sums; and 4ℓ: result, lease, pull, chunks
//	T_gather = D'/b on the link of the coordinator, or if longer its processor time; and 3ℓ
//
// Where workers have no servers of their own, T_sum is at least N·D'·(W−1)/(W·b), on the link of the only broker.
func (c Cluster) shared(l Load, w Wire, blocks int) (sum, gather transfer) {
	n, bytes := l.chunks(w.Bytes), w.Bytes*float64(l.Parameters)
	count, workers, cores := float64(blocks), float64(c.Workers), float64(c.Cores)
	each := math.Ceil(workers / float64(c.Machines))
	sum, gather = transfer{by: Cores}, transfer{by: Coordinator}
	gather.slower(n*l.Deliver/2+l.Merge, Coordinator)
	if c.OneMachine {
		sum.slower(count*(n*(l.Send+l.Deliver)+l.Merge)/cores, Cores)
		gather.slower((n*(l.Send+l.Deliver)+l.Merge)/cores, Coordinator)
		return sum, gather
	}
	abroad := max(0, workers-each) / workers // share of what crosses the link of a machine
	if !c.Carried {
		sum.slower(count*bytes*(workers-1)/workers/c.Link, Uplink)
		abroad = (workers - 1) / workers // all but what a worker keeps
	}
	sum.slower(each*math.Ceil(count/workers)*bytes*abroad/c.Link, WorkerLink)
	sum.slower(each*count/workers*bytes*abroad/c.Link, WorkerLink)
	sum.slower(each*count/workers*(n*(l.Send+l.Deliver)+l.Merge)/cores, Cores)
	sum.latency = 4 * c.Latency
	gather.slower(bytes/c.Link, Downlink)
	gather.slower(bytes*2*c.Latency/float64(l.Credit), Delay)
	gather.latency = 3 * c.Latency
	return sum, gather
}

// Sums reports whether a run that chooses its exchange has workers sum, by what is predicted: if that saves at
// least a twentieth of an update, as Chooser demands.
func Sums(l Load, c Cluster, w Wire) bool {
	star, sums := w, w
	star.Sharded, sums.Sharded = false, true
	return c.Workers > 1 && Predict(l, c, sums).Seconds <= (1-worthwhile)*Predict(l, c, star).Seconds
}

package web

// follower keeps up with the metrics of a run.
type follower struct{}

package coordinator

import (
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// rejections counts the messages that were refused, by sender and reason. Several goroutines may use it.
type rejections struct {
	mu   sync.Mutex
	list []Rejection // in the order of their first appearance
}

// maxRejections bounds the senders that are told apart; those beyond count as unknown.
const maxRejections = 1024

// count counts a refused message and logs the first of each sender and reason.
func (rs *rejections) count(cmd rejectCommand, log hclog.Logger) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	// So workers that come under ever new names fill neither the list nor the log.
	if len(rs.list) >= maxRejections {
		cmd.worker = ""
	}
	for i := range rs.list {
		if r := &rs.list[i]; r.Worker == cmd.worker && r.Reason == cmd.reason {
			r.Count++
			return
		}
	}
	rs.list = append(rs.list, Rejection{cmd.worker, cmd.reason, 1})
	level := hclog.Warn
	if cmd.reason.Expected() {
		level = hclog.Debug
	}
	log.Log(level, "message refused", "worker", cmd.worker, "reason", string(cmd.reason), "detail", cmd.detail)
}

// all returns a copy.
func (rs *rejections) all() []Rejection {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Clone(rs.list)
}

package chaos

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

// Effects count what a run did because of the faults: each is a mechanism that a fault is meant to exercise. The
// counts of a coordinator are read once a second and just before it is killed; what it did after that is missing.
type Effects struct {
	Restores    int64 `json:"restores"`        // coordinators that went on from a checkpoint
	Servers     int64 `json:"servers_killed"`  // with their workers, when they had reached another server
	Summed      int64 `json:"steps_summed"`    // steps whose gradient workers have summed
	Repeated    int64 `json:"steps_repeated"`  // steps that were made again, and compared with the log
	Reissued    int64 `json:"leases_reissued"` // blocks that were taken back from a worker and given out again
	Speculated  int64 `json:"copies"`          // blocks that a second worker was given because the first took too long
	Audits      int64 `json:"audits"`          // blocks that were computed twice to compare them
	Disputes    int64 `json:"disputes"`        // blocks of which workers sent different bits
	Rollbacks   int64 `json:"rollbacks"`       // times that the run went back because a worker was cut off
	Quarantined int64 `json:"workers_cut_off"` // because of what they sent
}

// asked are the kinds of fault that a plan has, in the order of the report.
func (p *Plan) asked() []string {
	var list []string
	add := func(wanted bool, name string) {
		if wanted {
			list = append(list, name)
		}
	}
	f := &p.Faults
	add(p.Kill > 0, killWorker.String())
	add(p.CoordinatorKill > 0, killCoordinator.String())
	add(p.BrokerRestart > 0, restartBroker.String())
	add(p.Pause.Length > 0, pauseWorker.String())
	add(f.Drop > 0, fault.Drop.String())
	add(f.Dup > 0, fault.Dup.String())
	add(f.Delay.Most > 0 && f.Delay.Share > 0, fault.Delayed.String())
	add(f.Corrupt > 0, fault.Corrupt.String())
	add(f.NaN > 0, fault.NaN.String())
	add(f.Partition.Length > 0, fault.Partition.String())
	add(f.DiskFull.Length > 0, fault.DiskFull.String())
	return list
}

// idle says which of the faults that were asked for did not happen, or met nothing that they could harm. A run with
// such a fault proves nothing about it.
func idle(cfg *Config, faults map[string]int64, e *Effects) []string {
	var list []string
	for _, name := range cfg.Plan.asked() {
		switch n := faults[name]; {
		case n == 0 && name == killCoordinator.String():
			list = append(list, name+": the run was over before there was a checkpoint to restore")
		case n == 0:
			list = append(list, name+": the run was over before it happened")
		case name == killCoordinator.String() && e.Restores == 0:
			list = append(list, fmt.Sprintf("%s: %d times, and no coordinator went on from a checkpoint", name, n))
		case name == killWorker.String() && e.Reissued+e.Speculated == 0:
			list = append(list, fmt.Sprintf("%s: %d times, and no other worker was given a block of a killed one", name, n))
		}
	}
	if cfg.Servers && cfg.Plan.Kill > 0 && e.Servers == 0 {
		list = append(list, "servers: none was killed with its worker after it had reached another one")
	}
	if cfg.Sums && e.Summed == 0 {
		list = append(list, "sums: the configuration asks for them, and workers summed no gradient")
	}
	if cfg.Audit > 0 && e.Audits == 0 {
		list = append(list, "audits: the configuration asks for them, and no block was computed twice")
	}
	return list
}

// restores counts, in the log of the run, the coordinators that went on from a checkpoint. A run without a log
// has none.
func (k *conductor) restores() (int64, error) {
	path := filepath.Join(k.cfg.Folder, "runs", k.cfg.Name, "log.jsonl")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the restores: %w", err)
	}
	return countRestores(data), nil
}

// countRestores counts the lines of a log that say that a coordinator went on from a checkpoint. A torn line counts for
// nothing.
func countRestores(log []byte) (n int64) {
	lines := bufio.NewReader(bytes.NewReader(log))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return n
		}
		var e struct {
			Event string `json:"event"`
			Step  uint64 `json:"step"`
		}
		if json.Unmarshal(line, &e) == nil && e.Event == "open" && e.Step > 0 {
			n++
		}
	}
}

package lead

import (
	"math"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// The time between two records of progress is a tenth of the run's time so far, within these limits.
const (
	progressInterval = 5 * time.Second
	progressSlowest  = time.Minute
)

// ProgressLog logs the progress of a run from time to time, as records. It is what a run without a screen shows. It
// is not safe for concurrent use.
type ProgressLog struct {
	log           hclog.Logger
	start, logged time.Time
}

// NewProgressLog returns a log for a run that begins.
func NewProgressLog(log hclog.Logger) *ProgressLog { return &ProgressLog{log: log, start: time.Now()} }

// Show logs the progress if the last record is old enough.
func (l *ProgressLog) Show(p terminal.Progress) {
	now := time.Now()
	interval := min(max(now.Sub(l.start)/10, progressInterval), progressSlowest)
	if now.Sub(l.logged) < interval {
		return
	}
	l.logged = now
	l.log.Info("progress", progressFields(p)...)
}

// progressFields are the known parts of the progress, as fields of a log record. The objective and the rates are
// left out before the first step.
func progressFields(p terminal.Progress) []any {
	fields := []any{"step", p.Step, "steps", p.Steps, "workers", p.Workers}
	if p.StepRate > 0 { // the run has made steps
		fields = append(fields, "objective", rounded(p.Objective), "steps_per_second", rounded(p.StepRate),
			"bytes_per_worker", math.Round(p.WorkerBytes))
	}
	if p.Note != "" {
		fields = append(fields, "waiting_for", p.Note)
	}
	return fields
}

// rounded rounds a number for people.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }

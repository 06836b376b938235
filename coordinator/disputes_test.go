package coordinator

import (
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
)

// A question is found while the referee computes its block, and not when the work has begun anew.
func TestJudgement_QuestionsEndWithTheirRounds(t *testing.T) {
	m, l := testMachine(t, func(cfg *Config) { cfg.Audit = 1 })
	m.judgement.ask(l.task)
	if m.judgement.question(1) != l.task || m.judgement.question(2) != nil || l.task.Phase() != trust.Refereed {
		t.Error("the question is not found")
	}
	if m.run.beginAnew(time.Second); m.judgement.question(1) != nil {
		t.Error("a question about what was thrown away is found")
	}
}

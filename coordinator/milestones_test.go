package coordinator

import (
	"math"
	"testing"
)

// Validations and checkpoints are due at their intervals and at the end, once each.
func TestMilestones_AreDueOnce(t *testing.T) {
	s := newMilestones(&Config{Steps: 10, ValidateEvery: 4, ValidationShards: 2, CheckpointEvery: 3})
	validations, checkpoints := []uint64{}, []uint64{}
	for step := range uint64(11) {
		for range 2 { // the work at some parameters may begin anew
			validating := s.validationDue(step)
			if validating {
				validations = append(validations, step)
				s.validate(step, 1)
			}
			if s.checkpointDue(step, false) {
				checkpoints = append(checkpoints, step)
				s.save(step)
			}
		}
	}
	for name, c := range map[string]struct{ got, want []uint64 }{
		"validations": {validations, []uint64{4, 8, 10}}, "checkpoints": {checkpoints, []uint64{3, 6, 9}},
	} {
		if len(c.got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
			continue
		}
		for i := range c.got {
			if c.got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, c.got, c.want)
			}
		}
	}
	if !s.missing(10) || s.missing(9) {
		t.Error("the last step is in no checkpoint, the one before is")
	}
}

// A request for a checkpoint is for the parameters after the step under way, however often that is begun anew.
func TestMilestones_RequestOutlivesAPass(t *testing.T) {
	s := newMilestones(&Config{Steps: 10})
	for _, step := range []uint64{0, 4} {
		s.restore(&Checkpoint{Step: step, BestLoss: math.Inf(1)})
		s.asked = true
		if s.checkpointDue(step, false) {
			t.Errorf("step %d is saved again", step)
		}
		if !s.checkpointDue(step+1, false) || s.checkpointDue(step+1, false) {
			t.Errorf("what was asked for in step %d is not saved once", step)
		}
	}
}

// A checkpoint waits for the validation of its parameters, and holds its result.
func TestMilestones_CheckpointWaitsForValidation(t *testing.T) {
	s := newMilestones(&Config{Steps: 10, ValidateEvery: 4, ValidationShards: 2, CheckpointEvery: 4})
	if s.checkpointDue(4, true) || !s.unsaved {
		t.Fatal("the checkpoint does not wait")
	}
	if !s.validate(4, 2) || s.validate(4, 2) {
		t.Error("a loss is better only if it is lower")
	}
	cp := s.save(4)
	if cp.Validated != 4 || cp.BestStep != 4 || cp.BestLoss != 2 || s.unsaved || s.missing(4) {
		t.Errorf("checkpoint %+v, milestones %+v", cp, s)
	}
}

// The memory of a checkpoint that is written is used for the next one, once.
func TestMilestones_SaveUsesSpareMemory(t *testing.T) {
	s := newMilestones(&Config{Steps: 10})
	s.restore(&Checkpoint{Step: 3, BestLoss: math.Inf(1)})
	if s.missing(3) {
		t.Error("what was restored is missing")
	}
	spare := &Checkpoint{Theta: make([]float32, 0, 8), Path: "old"}
	s.spare = spare
	if cp := s.save(4); cp != spare || cap(cp.Theta) != 8 || cp.Path != "" {
		t.Errorf("got %+v", cp)
	}
	if cp := s.save(5); cp == spare {
		t.Error("the memory was used twice")
	}
}

// A run ends when so many validations were not better than the best one, also after it went back to a checkpoint.
func TestMilestones_Patience(t *testing.T) {
	s := newMilestones(&Config{Steps: 100, ValidateEvery: 10, ValidationShards: 1, Patience: 2})
	losses := map[uint64]float64{10: 3, 20: 4, 30: 2, 40: 2, 50: 5, 60: 1}
	for step := uint64(10); step <= 60; step += 10 {
		if s.exhausted(step) {
			t.Fatalf("it ends at step %d, which is not validated", step)
		}
		s.validate(step, losses[step])
		if got, want := s.exhausted(step), step == 50; got != want {
			t.Errorf("after step %d: exhausted is %v", step, got)
		}
		if step == 50 {
			restored := newMilestones(&Config{Steps: 100, ValidateEvery: 10, ValidationShards: 1, Patience: 2})
			restored.restore(s.save(50))
			if !restored.exhausted(50) {
				t.Error("a checkpoint does not say that the run has ended")
			}
			patient := newMilestones(&Config{Steps: 100, ValidateEvery: 10, ValidationShards: 1, Patience: 3})
			patient.restore(s.save(50))
			if patient.exhausted(50) {
				t.Error("more patience does not help")
			}
		}
	}
}

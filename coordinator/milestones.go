package coordinator

import "math"

// milestones says which parameters are to be validated and saved, which were, and which are the best so far.
type milestones struct {
	steps           uint64 // of the whole run
	validates       bool
	validateEvery   uint64 // 0: only at the end
	checkpointEvery uint64 // 0: only at the end
	patience        uint64 // updates without a better validation after which the run ends; 0: it never ends so

	validated uint64  // step that was last validated; 0: none
	best      float64 // lowest loss of a validation; +Inf: there was none
	bestStep  uint64  // step with that loss; 0: none
	saved     uint64  // step of the last checkpoint; never: none

	// unsaved says that a checkpoint of these parameters is due and waits for their validation, which it is to contain.
	// Invariant: it is set only while a validation is under way.
	unsaved bool
	// spare is the memory of a checkpoint that was written; nil: there is none.
	spare *Checkpoint
	asked bool // somebody wants a checkpoint of the next parameters, whatever their step
}

// never is the step of a checkpoint that was not written.
const never = math.MaxUint64

// newMilestones begins a run of which nothing is validated or saved. Patience is given in validations, and counted in
// updates.
func newMilestones(cfg *Config) milestones {
	return milestones{
		steps: cfg.Steps, validates: cfg.ValidationShards > 0, validateEvery: cfg.ValidateEvery,
		checkpointEvery: cfg.CheckpointEvery, patience: uint64(cfg.Patience) * cfg.ValidateEvery, best: math.Inf(1),
		saved: never,
	}
}

// restore continues from a checkpoint. The patience goes on from where it was.
func (s *milestones) restore(cp *Checkpoint) {
	s.validated, s.best, s.bestStep, s.saved = cp.Validated, cp.BestLoss, cp.BestStep, cp.Step
	s.unsaved = false
}

// validationDue reports whether the parameters after a step are to be validated. A step is validated once, also after
// the run was resumed there.
func (s *milestones) validationDue(step uint64) bool {
	if !s.validates || step == 0 || step == s.validated {
		return false
	}
	return step == s.steps || s.validateEvery > 0 && step%s.validateEvery == 0
}

// checkpointDue reports whether the parameters after a step are to be saved at once. If they are being validated, the
// checkpoint waits for the result. A request is used up here, but not by parameters that are saved already: it is for
// those that follow.
func (s *milestones) checkpointDue(step uint64, validating bool) bool {
	due := s.asked || s.checkpointEvery > 0 && step%s.checkpointEvery == 0
	if !due || step == s.saved || step == 0 {
		return false
	}
	s.asked = false
	s.unsaved = validating
	return !validating
}

// validate notes the loss of a validation, and reports whether it is the lowest so far.
func (s *milestones) validate(step uint64, loss float64) (better bool) {
	s.validated = step
	if better = loss < s.best; better {
		s.best, s.bestStep = loss, step
	}
	return better
}

// exhausted reports whether the run ends with the parameters after a step, because they were validated and so many
// validations were not better than the best one. Checkpoints contain all that it depends on: it is a function of the
// configuration.
func (s *milestones) exhausted(step uint64) bool {
	return s.patience > 0 && step > 0 && s.validated == step && step-s.bestStep >= s.patience
}

// missing reports whether the parameters after a step are in no checkpoint.
func (s *milestones) missing(step uint64) bool { return s.saved != step }

// save begins a checkpoint of the parameters after a step, in memory that was used before if there is some. It has
// the vectors of before, of whatever content; the caller fills them in.
func (s *milestones) save(step uint64) *Checkpoint {
	s.saved, s.unsaved = step, false
	// Vectors of a checkpoint that is on disk are used again, so that a run in the long run allocates none.
	cp := s.spare
	s.spare = nil
	if cp == nil {
		cp = new(Checkpoint)
	}
	*cp = Checkpoint{
		Theta: cp.Theta, Moments: cp.Moments, Levels: cp.Levels[:0],
		Validated: s.validated, BestStep: s.bestStep, BestLoss: s.best,
	}
	return cp
}

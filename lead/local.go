package lead

import (
	"fmt"
	"sync"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/worker"
)

// localWorkers are the workers of this process that are left.
type localWorkers struct {
	mu   sync.Mutex
	left int   // workers that have not ended
	err  error // the first error of a worker; nil: none
}

// hire starts the workers of the session. If all of them end with an error and no other worker can join, it calls gone
// with the first error. gone is called once at most, by the goroutine of the last worker.
func (s *Session) hire(gone func(error)) (dismiss func(), err error) {
	c := &localWorkers{left: s.Workers}
	return hire(s.Workers, s.worker, func(err error) { c.ended(err, !s.Transport.Open(), gone) })
}

// worker makes worker n of the session, from 0, with a connection of its own, which the transport closes.
func (s *Session) worker(n int) (runner, error) {
	bus, err := s.Transport.Connect(fmt.Sprintf("worker %d", n+1))
	if err != nil {
		return nil, err
	}
	return worker.New(worker.Config{
		Run: s.run, ID: fmt.Sprintf("local-%d", n+1), Slots: s.Slots, Info: job.Version(), Numerics: job.Numerics(),
		Build: s.build, DataSet: s.dataSet,
	}, bus, s.WorkerLog.Named("worker"))
}

// build makes the program of a job, which is a resolved configuration. The workers of this process share the data set
// of the plan. A job with another data set is built from data.
func (s *Session) build(text, data []byte, slots int) (worker.Program, error) {
	kinds := s.Plan.Config.Kinds()
	c, err := kinds.Parse("job", text)
	if err != nil {
		return nil, err
	}
	if s.Plan.Data.Is(c) {
		return job.NewProgram(c, s.Plan.Data.Dataset(), slots)
	}
	return job.Build(kinds)(text, data, slots)
}

// dataSet returns the data set of the plan, which need not be fetched. It returns nil for another hash.
func (s *Session) dataSet(hash string) []byte {
	if !s.Plan.Data.Has(hash) {
		return nil
	}
	return s.Plan.Data.Bytes()
}

// ended counts a worker that has ended. alone says that no other worker can join the run: without workers it would
// wait for ever, so gone is called.
func (c *localWorkers) ended(err error, alone bool, gone func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if err != nil && c.err == nil {
		c.err = err
	}
	if c.left == 0 && c.err != nil && alone {
		gone(fmt.Errorf("%w: %w", ErrNoWorkers, c.err))
	}
}

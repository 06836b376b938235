package job

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/config"
)

// MeasureStep builds the program of a configuration and times one of its shards. It returns the seconds that an update
// takes on one core, and the bytes of a checkpoint. It loads the data, and computes three shards. The
// checkpoint is counted as parameters and two moments of them, four bytes each.
func MeasureStep(c config.Config) (seconds, bytes float64, err error) {
	p, err := Prepare(c, nil, 1)
	if err != nil {
		return 0, 0, err
	}
	program, err := p.Program(1)
	if err != nil {
		return 0, 0, err
	}
	if err := program.Load(0, p.Theta); err != nil {
		return 0, 0, fmt.Errorf("install the initial parameters: %w", err)
	}
	gradient, terms := make([]float32, program.Size()), make([]float32, len(program.TermNames()))
	const (
		// The first shard simulates episodes and allocates memory, the second puts the tape into one piece: both take many
		// times as long as the others.
		shards = 3
		long   = time.Second // after which two are enough
	)
	least := time.Hour
	for n := 0; n < shards && (n < 2 || least < long); n++ {
		began := time.Now()
		if err := program.Gradient(0, 0, 0, gradient, terms); err != nil {
			return 0, 0, fmt.Errorf("compute a shard: %w", err)
		}
		least = min(least, time.Since(began))
	}
	return least.Seconds() * float64(RoundShards(c)) / float64(Stride(c)), 12 * float64(len(p.Theta)), nil
}

package lead

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// trouble is the state of a file that cannot be written at times.
type trouble struct {
	err    error
	logged time.Time
}

// note logs an error when it appears, again every few seconds while it lasts, and its end.
func (t *trouble) note(log hclog.Logger, err error) {
	switch {
	case err != nil && time.Since(t.logged) > saveInterval:
		t.logged = time.Now()
		log.Error("record not written", "error", err, "remedy", disk.Remedy(err)+
			"; training continues, and the records are written later")
	case err == nil && t.err != nil:
		log.Info("records are written again")
		t.logged = time.Time{}
	}
	t.err = err
}

package job

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
)

// The data of a run that exists are in its files, or in the data set that a host keeps beside the runs that it leads,
// whose files may be on the machine that submitted them. Here lies the choice between the two. Both have the same
// content, to the bit, which is all that training uses. The files say more: names, times, values before transforms.

// PrepareAgain plans a run that exists, with the data that it began with. Those of a run that a host led come from the
// host's data set, and from the files where that is gone; those of other runs come from their files. folder is that of
// the run; slots is that of NewPlan.
func PrepareAgain(c config.Config, folder string, slots int) (*Plan, error) {
	scale, err := StoredScale(c, folder)
	if err != nil {
		return nil, err
	}
	if !hosted(folder) {
		return Prepare(c, scale, slots)
	}
	data, err := StoredData(runsOf(folder), c, scale)
	if err == nil {
		return NewPlan(c, data, slots)
	}
	if p, failed := Prepare(c, scale, slots); failed == nil {
		return p, nil
	}
	return nil, err
}

// Recordings are the data of a run on recordings, as its model saw them; nil where data are simulated. They are read
// from the files that the run began with. Where these are gone or other ones, those of a run that a host led come from
// the host's data set, if that says all that numbers depend on; their recordings have numbers for names then, and no
// times. folder is that of the run.
func Recordings(c config.Config, folder string) (*eval.Recordings, error) {
	if own(c) == nil {
		return nil, nil
	}
	scale, err := StoredScale(c, folder)
	if err != nil {
		return nil, err
	}
	begun := c // LoadData changes the one that it is given
	d, err := LoadData(&begun, scale)
	if err == nil {
		return d.recordings(begun)
	}
	if !hosted(folder) {
		return nil, err
	}
	d, missing := StoredData(runsOf(folder), c, scale)
	if missing != nil {
		return nil, config.Hint(err, "put the files back, or the data set %s into %s", own(c).Hash,
			store.DataFolder(runsOf(folder)))
	}
	if lacking := d.lacking(own(c)); lacking != "" {
		return nil, config.Hint(fmt.Errorf("%w; the data set of the coordinator does not say %s", err, lacking),
			"put the files back: they alone say it")
	}
	return d.recordings(c)
}

// hosted reports whether a host led the run of a folder. A run whose run.json cannot be read counts as one of this
// machine.
func hosted(folder string) bool {
	info, err := store.Peek(filepath.Split(filepath.Clean(folder)))
	return err == nil && info.Host
}

// runsOf is the folder of runs that the folder of a run is in.
func runsOf(folder string) string { return filepath.Dir(filepath.Clean(folder)) }

// normalisation is the scaling of data as a run stores it, as JSON, and beside it what their encoding leaves out.
type normalisation struct {
	files.Normalisation
	// Divided says whether a split by time has made the parts that the episodes are in. Then each part but that for
	// training continues the episode before it. nil: there are no parts, or it is not known.
	Divided *bool `json:"divided,omitempty"`
}

// divided is normalisation.Divided of a data set that was read from files.
func divided(set *files.Dataset) *bool {
	if set.Episodes[0].Part == files.Unassigned {
		return nil
	}
	by := slices.ContainsFunc(set.Episodes, func(e files.Episode) bool { return e.Continues })
	return &by
}

// parseDivided reads normalisation.Divided.
func parseDivided(text []byte) (*bool, error) {
	var n normalisation
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("%w: read its normalisation: %w", store.ErrDamaged, err)
	}
	return n.Divided, nil
}

// Drawn reports whether the seed of a run draws which recordings its scaling, as JSON, was measured on. It does unless
// they were divided by time, or their files say the parts. That of an older release, which does not tell, counts as
// drawn.
func Drawn(scale []byte) (bool, error) {
	by, err := parseDivided(scale)
	return by == nil, err
}

// join marks the parts, but those for training, of a data set that was divided by time: each continues the one before.
func join(set *files.Dataset) {
	for i := range set.Episodes {
		part := set.Episodes[i].Part
		set.Episodes[i].Continues = i > 0 && (part == files.Validation || part == files.Test)
	}
}

// lacking names what an encoded data set leaves out, and what numbers depend on; empty: there is nothing. Without it,
// answers would be other ones than with the files.
func (d *Data) lacking(s *files.Settings) string {
	inParts := d.set.Episodes[0].Part != files.Unassigned
	switch {
	case d.set.Transforms != nil:
		return "which values the observations had before env.transform"
	case d.scale.Recordings != nil:
		return "the names of the recordings, to which env.normalise=recording gives scales"
	case d.divided != nil && *d.divided && d.set.Spec.Control > 0:
		return "which controls acted between the parts of a split by time"
	case d.divided == nil && inParts && s.Split != "episode":
		return "whether its parts continue one another, as it comes from an older release"
	}
	return ""
}

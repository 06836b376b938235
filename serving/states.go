package serving

import (
	"context"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// ClientState is all that is held of a client: another service of the same model goes on from it as if it had filtered
// the observations itself. Observations and Controls are the history that forecasts are made from.
type ClientState struct {
	Client       string         `json:"client"`
	SHA256       string         `json:"params_sha256"` // of the parameters that the state belongs to
	Steps        int            `json:"steps"`
	State        *trained.State `json:"state"`
	Observations [][]Number     `json:"observations"` // the last ones
	Controls     [][]Number     `json:"controls,omitempty"`
}

// saved is a copy of what is held.
func (c *client) saved(name string) *ClientState {
	state := c.state.Clone()
	return &ClientState{
		Client: name, Steps: c.steps, State: &state, Observations: eval.NumberRows(c.history.Observations),
		Controls: eval.NumberRows(c.history.Controls),
	}
}

// client is what is held after a state was restored, by a service that forecasts from so many observations.
func (s *ClientState) client(history int) *client {
	past := trained.Series{Observations: missing(s.Observations), Controls: missing(s.Controls), Of: s.State.Of}
	return &client{state: s.State.Clone(), steps: s.Steps, history: trimmed(past, history)}
}

// Save returns the state of a client. It returns ErrRequest if there is no such client.
func (s *Service) Save(ctx context.Context, name string) (*ClientState, error) {
	r := &request{client: name, save: true}
	if err := s.do(ctx, r); err != nil {
		return nil, err
	}
	r.saved.SHA256 = s.about.SHA256
	return r.saved, nil
}

// Restore puts a state that Save returned in the place of what is held of a client. It returns ErrState for a state
// of other parameters, or one that is damaged; then nothing has changed. The name may be another one than it was
// saved under.
func (s *Service) Restore(ctx context.Context, name string, c ClientState) error {
	switch {
	case name == "" || len(name) > maxClient:
		return wrong("client: a name of 1 to %d characters is needed", maxClient)
	case c.SHA256 != s.about.SHA256:
		return fmt.Errorf("%w: it belongs to parameters %.12s, served are %.12s", ErrState, c.SHA256, s.about.SHA256)
	case c.State == nil || len(c.State.Of) > maxClient || c.Steps < 1 ||
		(s.sizes.nu > 0 || len(c.Controls) > 0) && len(c.Controls) != len(c.Observations):
		return fmt.Errorf("%w: it is not whole", ErrState)
	}
	if err := checkRows("observations", c.Observations, s.sizes.nx); err != nil {
		return err
	}
	if err := checkRows("controls", c.Controls, s.sizes.nu); err != nil {
		return err
	}
	for i, row := range c.Controls {
		// A series may begin with any controls: they are not read.
		if i > 0 && slices.ContainsFunc(row, func(v Number) bool { return v != v }) {
			return wrong("controls: row %d holds null: a control cannot be missing", i)
		}
	}
	if err := s.model.check(c.State); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return s.do(ctx, &request{client: name, restore: &c})
}

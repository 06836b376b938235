package job

import (
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// own are the settings of recorded data; nil if data are simulated. Copies of a configuration share them; Clone
// separates them.
func own(c config.Config) *files.Settings {
	s, _ := c.Env.Settings.(*files.Settings)
	return s
}

// newModel builds the model of a configuration for data of these dimensions. It returns an error if the model is not
// trained by gradient.
func newModel(c config.Config, d model.Data) (model.Trainable, error) {
	m, err := config.NewModel(c, d)
	if err != nil {
		return nil, err
	}
	return config.Trainable(c, m)
}

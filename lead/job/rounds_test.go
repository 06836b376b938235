package job

import (
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestOptimizer_OfEveryFamily on every preset is one that a coordinator accepts.
func TestOptimizer_OfEveryFamily(t *testing.T) {
	kinds := config.Builtin().Kinds()
	for _, p := range config.Presets() {
		for _, family := range kinds.Families() {
			r, err := kinds.Resolve(config.Sources{Preset: p.Name, Arguments: []string{"model.kind=" + family}})
			if err != nil {
				continue // the family is not for this environment
			}
			if o := optimizer(r.Config, nil); o.Validate() != nil {
				t.Errorf("%s model.kind=%s: %v", p.Name, family, o.Validate())
			}
		}
	}
}

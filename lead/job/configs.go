package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// ReadConfig reads the configuration of a run. If it cannot be read, the file is damaged; the caller made no mistake.
func ReadConfig(kinds *config.Kinds, runsDir, name string) (config.Config, error) {
	data, path, err := store.Config(runsDir, name)
	if err != nil {
		return config.Config{}, err
	}
	c, err := kinds.Parse(path, data)
	if err != nil {
		return config.Config{}, fmt.Errorf("%w: %s", store.ErrDamaged, err)
	}
	return c, nil
}

// Differences lists keys with their values in two configurations, up to a limit. Only the content of data sets counts,
// not the paths of their files.
func Differences(a, b config.Config) []string {
	var list []string
	for _, d := range config.AllDifferences(a, b) {
		if d.Key != "env.files" {
			list = append(list, fmt.Sprintf("%s is %s there, %s here", d.Key, orNone(d.A), orNone(d.B)))
		}
	}
	const most = 4
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return list
}

func orNone(value string) string {
	if value == "" {
		return "not a key"
	}
	return value
}

package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// ReadConfig reads the configuration of a run. If it cannot be read, the file is damaged; the caller made no
// mistake. It returns store.ErrNotFound if there is no such run, store.ErrName for what is no name, and
// store.ErrDamaged otherwise.
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

// Differences lists keys with their values in two configurations, as text: "there" is a, "here" is b. After the
// fourth it says how many more there are. Only the content of data sets counts, not the paths of their files. It is
// empty if the configurations are alike.
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

// orNone is the value of a key; a configuration of other kinds lacks it.
func orNone(value string) string {
	if value == "" {
		return "not a key"
	}
	return value
}

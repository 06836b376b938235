package job

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

// ReadConfig reads the configuration of a run; one that cannot be read is damaged, not the caller's mistake.
func ReadConfig(runsDir, name string) (config.Config, error) {
	data, path, err := runs.Config(runsDir, name)
	if err != nil {
		return config.Config{}, err
	}
	c, err := config.Parse(path, data)
	if err != nil {
		return config.Config{}, fmt.Errorf("%w: %s", runs.ErrDamaged, err)
	}
	return c, nil
}

// Differences lists keys with the values that they have in two configurations, not too many.
func Differences(a, b config.Config) []string {
	theirs := lines(b)
	var list []string
	for i, line := range lines(a) {
		if i < len(theirs) && line != theirs[i] {
			key, value, _ := strings.Cut(line, ": ")
			_, other, _ := strings.Cut(theirs[i], ": ")
			list = append(list, fmt.Sprintf("%s is %s there, %s here", key, value, other))
		}
	}
	const most = 4
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return list
}

// lines are the keys of a configuration with their values, as "section.key: value". All configurations have the same keys
// in the same order.
func lines(c config.Config) []string {
	var list []string
	section := ""
	for line := range strings.Lines(string(c.YAML())) {
		line = strings.TrimRight(line, "\n")
		switch key, inner := strings.CutPrefix(line, "  "); {
		case inner:
			list = append(list, section+key)
		case strings.HasSuffix(line, ":"):
			section = strings.TrimSuffix(line, ":") + "."
		case line != "":
			list = append(list, line)
		}
	}
	return list
}

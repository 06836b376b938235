package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Labels are what people say of a run. They stand in a file of their own, which no process that trains the run writes:
// they can be changed at any time.
type Labels struct {
	Tags     []string `json:"tags,omitempty"` // in order, each once
	Note     string   `json:"note,omitempty"`
	Archived bool     `json:"archived,omitempty"` // it is kept, and not shown unless asked for
}

// ErrLabels is returned for labels that a run cannot have.
var ErrLabels = errors.New("not labels of a run")

// LabelsFile is the file of the labels in the folder of a run.
const LabelsFile = "labels.json"

// Limits of labels. maxLabels is the most bytes that are read of their file.
const (
	maxTags   = 50
	maxTag    = 60    // bytes
	maxNote   = 20000 // bytes
	maxLabels = 1 << 20
)

// ReadLabels reads the labels of the named run. A run that nobody has labelled has none. What is no file of labels
// is ErrDamaged.
func ReadLabels(dir, name string) (Labels, error) {
	folder, err := find(dir, name)
	if err != nil {
		return Labels{}, err
	}
	path := filepath.Join(folder, LabelsFile)
	l, err := parseLabels(path)
	if err != nil {
		return Labels{}, damaged(path, err)
	}
	return l, nil
}

// parseLabels reads labels that SetLabels can have written; without the file there are none.
func parseLabels(path string) (l Labels, err error) {
	if err = decodeFile(path, maxLabels, &l); err == nil {
		_, err = l.checked()
	}
	if err != nil {
		return Labels{}, err
	}
	return l, nil
}

// SetLabels gives the named run labels in the place of those that it had. Tags are sorted, and each is kept once.
// The file is replaced atomically; of two who set labels at the same time, the last one stays. It returns ErrLabels
// for labels that break a limit, and holds no lock of the run.
func SetLabels(dir, name string, l Labels) error {
	folder, err := find(dir, name)
	if err != nil {
		return err
	}
	if l, err = l.checked(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the labels: %w", err)
	}
	return WriteShared(filepath.Join(folder, LabelsFile), append(data, '\n'))
}

// checked are the labels in order, or why a run cannot have them.
func (l Labels) checked() (Labels, error) {
	for _, text := range append([]string{l.Note}, l.Tags...) {
		if !utf8.ValidString(text) { // it would be read back as another one, which may be too long
			return l, fmt.Errorf("%w: %.80q is not in UTF-8", ErrLabels, text)
		}
	}
	tags := make([]string, 0, len(l.Tags))
	for _, tag := range l.Tags {
		switch tag = strings.TrimSpace(tag); {
		case tag == "":
			continue
		case len(tag) > maxTag || strings.ContainsAny(tag, ", \t\r\n\"'()=<>!~&|"):
			return l, fmt.Errorf("%w: tag %.80q: a tag is one word of at most %d bytes without punctuation of filters",
				ErrLabels, tag, maxTag)
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	if l.Tags = slices.Compact(tags); len(l.Tags) > maxTags {
		return l, fmt.Errorf("%w: %d tags; a run has at most %d", ErrLabels, len(l.Tags), maxTags)
	}
	if len(l.Note) > maxNote {
		return l, fmt.Errorf("%w: the note has %d bytes; it may have %d", ErrLabels, len(l.Note), maxNote)
	}
	return l, nil
}

package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// memoryFlag says where processes of this host meet to share memory.
type memoryFlag struct {
	folder string // off: nowhere; empty: the usual one
}

const (
	noMemory   = "off"
	memoryName = "shared-memory"
)

func (f *memoryFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.folder, memoryName, "", "folder in which coordinator and workers of one host meet to share "+
		"memory, or off (default: one of this user in /dev/shm)")
}

// check returns what is wrong.
func (f *memoryFlag) check() error {
	if f.folder != "" && f.folder != noMemory && !filepath.IsAbs(f.folder) {
		return config.Hint(config.Usagef("--%s %s: want a folder with its whole path, or %s", memoryName, f.folder, noMemory),
			"e.g. --%s /dev/shm/switchyard", memoryName)
	}
	return nil
}

// host is the memory that is shared; nil: none is.
func (f *memoryFlag) host() shm.Host {
	const usual = "/dev/shm" // of Linux
	switch f.folder {
	case noMemory:
		return nil
	case "":
		if info, err := os.Stat(usual); err != nil || !info.IsDir() {
			return nil
		}
		return shm.Directory(filepath.Join(usual, fmt.Sprintf("switchyard-%d", os.Geteuid())))
	}
	return shm.Directory(f.folder)
}

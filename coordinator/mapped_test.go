//go:build unix

package coordinator_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
)

// A data set that is too large is refused before anything is done with it.
func TestNew_DataTooLarge(t *testing.T) {
	data, err := syscall.Mmap(-1, 0, wire.MaxData+1, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no address space: %v", err)
	}
	defer syscall.Munmap(data)
	cfg := config(t)
	cfg.Data = data
	_, err = coordinator.New(cfg, initial(toySize), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if !errors.Is(err, coordinator.ErrConfig) || !strings.Contains(err.Error(), "data set: 1073741825 bytes exceed 1073741824") {
		t.Errorf("got %v", err)
	}
}

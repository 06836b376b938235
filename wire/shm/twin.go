package shm

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Twin is memory within one process, for tests and simulations: all that are given the same Twin are on one host.
type Twin struct {
	mu      sync.Mutex
	lobbies map[string]*twinServer // by place; guarded by mu
	// fault decides what becomes of a read; see NewTwin.
	fault func(data []byte) error
}

// NewTwin returns a host. If fault is not nil it is called for each read, by one goroutine at a time, with what was
// read, which it may change. The read fails with its error.
func NewTwin(fault func(data []byte) error) *Twin {
	return &Twin{lobbies: make(map[string]*twinServer), fault: fault}
}

var _ Host = (*Twin)(nil)

// Open implements Host. A client may bring memory of any size.
func (t *Twin) Open(size, _ int) (Server, error) {
	l := &twinServer{
		twin: t, place: newPlace(), own: &twinMemory{twin: t, bytes: make([]byte, size)},
		expected: make(map[uint64]*twinMemory),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lobbies[l.place] = l
	return l, nil
}

// Join implements Host. The secret stands for the proof: whoever names one that is expected is let in.
func (t *Twin) Join(_ context.Context, place string, secret uint64, size int) (Link, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lobbies[place]
	if l == nil {
		return nil, fmt.Errorf("%w: %s", ErrAbsent, place)
	}
	if _, ok := l.expected[secret]; !ok {
		return nil, fmt.Errorf("%w: not expected", ErrProof)
	}
	client := &twinMemory{twin: t, bytes: make([]byte, size)}
	l.expected[secret] = client
	return &twinLink{WriterAt: client, ReaderAt: l.own}, nil
}

// twinMemory is the memory of one side.
type twinMemory struct {
	twin  *Twin
	bytes []byte // guarded by twin.mu
}

// WriteAt implements io.WriterAt.
func (m *twinMemory) WriteAt(p []byte, at int64) (int, error) {
	m.twin.mu.Lock()
	defer m.twin.mu.Unlock()
	if at < 0 || at > int64(len(m.bytes)-len(p)) {
		return 0, ErrRoom
	}
	return copy(m.bytes[at:], p), nil
}

// ReadAt implements io.ReaderAt.
func (m *twinMemory) ReadAt(p []byte, at int64) (int, error) {
	m.twin.mu.Lock()
	defer m.twin.mu.Unlock()
	if at < 0 || at > int64(len(m.bytes)-len(p)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, m.bytes[at:])
	if m.twin.fault != nil {
		if err := m.twin.fault(p); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// twinServer is a place. In expected, nil stands for one who has not come yet.
type twinServer struct {
	twin     *Twin
	place    string
	own      *twinMemory
	expected map[uint64]*twinMemory // by secret; guarded by twin.mu
}

// Place implements Server.
func (l *twinServer) Place() string { return l.place }

// WriteAt implements Server.
func (l *twinServer) WriteAt(p []byte, at int64) (int, error) { return l.own.WriteAt(p, at) }

// Expect implements Server. Those who stay expected keep the memory that they have brought.
func (l *twinServer) Expect(secrets []uint64) {
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	expected := make(map[uint64]*twinMemory, len(secrets))
	for _, s := range secrets[:min(len(secrets), MaxClients)] {
		expected[s] = l.expected[s]
	}
	l.expected = expected
}

// Client implements Server.
func (l *twinServer) Client(secret uint64) io.ReaderAt {
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	if m := l.expected[secret]; m != nil {
		return m
	}
	return nil
}

// Close implements Server.
func (l *twinServer) Close() error {
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	delete(l.twin.lobbies, l.place)
	return nil
}

// twinLink is what a client has.
type twinLink struct {
	io.WriterAt
	io.ReaderAt
}

// Close implements Link.
func (l *twinLink) Close() error { return nil }

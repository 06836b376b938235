package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// mostOfOwner is the largest memory of the owner of a place, which a client trusts as far as he obeys him. It bounds
// a mapping, which takes addresses and no memory.
const mostOfOwner = 1 << 40

// link is what a client of a place in a folder has.
type link struct {
	*memory         // its own
	owner   *theirs // memory of the one who opened the place
}

// Join implements Host.
func (d Directory) Join(ctx context.Context, place string, secret uint64, size int) (Link, error) {
	path, err := d.socket(place)
	if err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	unixConn := conn.(*net.UnixConn)
	defer unixConn.Close()
	// A deadline in the past ends what waits on the connection.
	defer context.AfterFunc(ctx, func() { unixConn.SetDeadline(time.Unix(1, 0)) })()
	if err := unixConn.SetDeadline(time.Now().Add(greeting)); err != nil {
		return nil, fmt.Errorf("join %s: %w", place, err)
	}
	// Memory is made only now: most who look for a place find nobody there.
	own, err := newMemory(size)
	if err != nil {
		return nil, err
	}
	owner, err := greet(unixConn, place, secret, own)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("join %s: %w", place, err), own.Close())
	}
	return &link{own, owner}, nil
}

// greet proves who the client is, and lets the owner of the place do the same. The client speaks first, so that an
// owner has nothing to send to a stranger.
func greet(conn *net.UnixConn, place string, secret uint64, own *memory) (*theirs, error) {
	h := newHello(place, secret, own.identity)
	if err := send(conn, h.encode(), own); err != nil {
		return nil, err
	}
	data, owner, err := receive(conn, len(h.proof), mostOfOwner)
	if err != nil {
		return nil, err
	}
	if err := proven(data, ownerSide, place, secret, h.nonce, owner.identity); err != nil {
		return nil, errors.Join(err, owner.Close())
	}
	return owner, nil
}

// ReadAt implements Link.
func (l *link) ReadAt(p []byte, at int64) (int, error) { return l.owner.ReadAt(p, at) }

// Close implements Link. The owner of the place may still read what the client wrote, until it learns that the client
// is gone.
func (l *link) Close() error { return errors.Join(l.memory.Close(), l.owner.Close()) }

// send sends data and the descriptor of a memory.
func send(conn *net.UnixConn, data []byte, m *memory) error {
	if _, _, err := conn.WriteMsgUnix(data, unix.UnixRights(int(m.file.Fd())), nil); err != nil {
		return fmt.Errorf("hand shared memory over: %w", err)
	}
	return nil
}

// receive receives data of a length and the memory of the other side, of so many bytes at most. What else comes is
// closed.
func receive(conn *net.UnixConn, length, most int) ([]byte, *theirs, error) {
	// A byte more than expected shows a longer message. Alignment leaves room for a second descriptor, so all that
	// came are looked at; the system keeps further ones back.
	data, rights := make([]byte, length+1), make([]byte, unix.CmsgSpace(4))
	n, ancillary, _, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, nil, fmt.Errorf("receive shared memory: %w", err)
	}
	descriptors := descriptorsOf(rights[:ancillary])
	if n != length || len(descriptors) != 1 {
		for _, fd := range descriptors {
			_ = unix.Close(fd) // nobody uses it
		}
		return nil, nil, fmt.Errorf("%w: %d bytes and %d descriptors", ErrProof, n, len(descriptors))
	}
	m, err := adopt(descriptors[0], most)
	if err != nil {
		return nil, nil, err
	}
	return data[:n], m, nil
}

// descriptorsOf are all descriptors that came with a message. They are closed in programs that this one starts.
func descriptorsOf(rights []byte) (descriptors []int) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err == nil {
			descriptors = append(descriptors, fds...)
		}
	}
	return descriptors
}

package shm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// greeting is how long a client may take to say who he is.
	greeting = 2 * time.Second
	// maxHandshakes is how many clients may do so at a time. One that says nothing holds its place for a greeting at
	// most.
	maxHandshakes = 16
)

// server is a place in a folder.
type server struct {
	place      string
	own        *memory
	most       int // bytes of a client's memory
	listener   *net.UnixListener
	handshakes chan struct{} // a semaphore: one entry for each client who has not proved yet who he is
	all        sync.WaitGroup

	// Invariant: the secret of every client is expected.
	mu       sync.Mutex
	expected map[uint64]uint64  // secrets by mark
	clients  map[uint64]*theirs // by secret; nil: closed
}

// Open implements Host. The socket is there when it returns. client bounds the memory that a client may bring.
func (d Directory) Open(size, client int) (Server, error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	place := newPlace()
	path, err := d.socket(place)
	if err != nil {
		return nil, err
	}
	own, err := newMemory(size)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrFolder, err), own.Close())
	}
	l := &server{
		place: place, own: own, most: client, listener: listener, handshakes: make(chan struct{}, maxHandshakes),
		expected: make(map[uint64]uint64), clients: make(map[uint64]*theirs),
	}
	l.all.Go(l.accept)
	return l, nil
}

// accept lets clients in until the place is closed.
func (l *server) accept() {
	for {
		l.handshakes <- struct{}{}
		conn, err := l.listener.AcceptUnix()
		if err != nil {
			<-l.handshakes
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // there are too many open files; clients wait, or go
			continue
		}
		l.all.Go(func() {
			_ = l.meet(conn) // who proves nothing is answered nothing
			_ = conn.Close() // all is said
			<-l.handshakes
		})
	}
}

// meet lets a client in who proves that he knows a secret that is expected, and where his memory is. The memory of
// one who does not is closed.
func (l *server) meet(conn *net.UnixConn) error {
	if err := conn.SetDeadline(time.Now().Add(greeting)); err != nil {
		return fmt.Errorf("meet a client: %w", err)
	}
	data, memory, err := receive(conn, helloLength, l.most)
	if err != nil {
		return err
	}
	h, err := decodeHello(data)
	secret, known := l.secret(h.mark)
	if err == nil && !known {
		err = fmt.Errorf("%w: not expected", ErrProof)
	}
	if err == nil {
		err = proven(h.proof[:], clientSide, l.place, secret, h.nonce, memory.identity)
	}
	if err == nil {
		// The client may have been given up since its secret was looked up.
		err = l.enter(secret, memory)
	}
	if err != nil {
		return errors.Join(err, memory.Close())
	}
	proof := prove(ownerSide, l.place, secret, h.nonce, l.own.identity)
	return send(conn, proof[:], l.own)
}

// secret returns the secret of a mark, if it is expected.
func (l *server) secret(mark uint64) (uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	secret, known := l.expected[mark]
	return secret, known
}

// enter makes a memory that of a client, who may have had another one. The last one counts: a worker that joins anew
// brings another.
func (l *server) enter(secret uint64, memory *theirs) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.expected[markOf(secret)]; !known || l.clients == nil {
		return fmt.Errorf("%w: not expected any more", ErrProof)
	}
	var err error
	if old := l.clients[secret]; old != nil {
		err = old.Close()
	}
	l.clients[secret] = memory
	return err
}

// Place implements Server.
func (l *server) Place() string { return l.place }

// WriteAt implements Server.
func (l *server) WriteAt(p []byte, at int64) (int, error) { return l.own.WriteAt(p, at) }

// Expect implements Server. Of more than MaxClients secrets the first are let in.
func (l *server) Expect(secrets []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.expected)
	for _, s := range secrets[:min(len(secrets), MaxClients)] {
		l.expected[markOf(s)] = s
	}
	for s, memory := range l.clients {
		if _, still := l.expected[markOf(s)]; !still {
			_ = memory.Close() // it is only read
			delete(l.clients, s)
		}
	}
}

// Client implements Server. It stays with the server, and fails once its client is expected no more.
func (l *server) Client(secret uint64) io.ReaderAt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if memory := l.clients[secret]; memory != nil {
		return memory
	}
	return nil
}

// Close implements Server.
func (l *server) Close() error {
	err := l.listener.Close() // which removes the socket
	l.all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, memory := range l.clients {
		err = errors.Join(err, memory.Close())
	}
	l.clients = nil
	return errors.Join(err, l.own.Close())
}

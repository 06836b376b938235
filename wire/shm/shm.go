package shm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Host opens and finds places. Several goroutines may use one.
type Host interface {
	// Open opens a place, with memory of that many bytes, for clients with memory of so many at most.
	Open(size, client int) (Server, error)
	// Join goes to the place of that name, with the secret by which it is expected there, and brings memory of that
	// many bytes. It returns when both have read what the other wrote, or soon with an error.
	Join(ctx context.Context, place string, secret uint64, size int) (Link, error)
}

// Server is a place that is open. It may be used by several goroutines.
type Server interface {
	// Place is its name.
	Place() string
	// WriteAt writes to the memory of who opened it, which all clients can read.
	io.WriterAt
	// Expect lets in those with these secrets. Who is not among them is a client no longer. At most MaxClients are
	// let in.
	Expect(secrets []uint64)
	// Client is the memory of who has come with that secret; nil if nobody has. A read fails once the client is given
	// up.
	Client(secret uint64) io.ReaderAt
	// Close ends the place. It returns when all its goroutines have ended.
	io.Closer
}

// Link is what a client has. One goroutine may read while another one writes.
type Link interface {
	// WriteAt writes to the client's memory.
	io.WriterAt
	// ReadAt reads the memory of who opened the place. Less than the whole comes with an error.
	io.ReaderAt
	io.Closer
}

var (
	// ErrUnsupported is returned where processes cannot share memory in this way.
	ErrUnsupported = errors.New("shm: this system has no memory that can be shared")
	// ErrFolder is returned for a folder in which no place can be.
	ErrFolder = errors.New("shm: unfit folder")
	// ErrPlace is returned for what is no name of a place.
	ErrPlace = errors.New("shm: no name of a place")
	// ErrAbsent is returned by Join if nobody is at the place: it is on another host, or closed.
	ErrAbsent = errors.New("shm: no process listens in this folder")
	// ErrProof is returned for who does not prove what he is.
	ErrProof = errors.New("shm: no proof")
	// ErrRoom is returned by WriteAt for what does not fit, or when there is no memory left.
	ErrRoom = errors.New("shm: no room")
)

// placeLength is the number of characters in the name of a place. They are hexadecimal digits.
const placeLength = 16

// checkPlace returns an error for a name that was not made by newPlace: nothing else is looked for in a folder.
func checkPlace(place string) error {
	if len(place) != placeLength || strings.Trim(place, "0123456789abcdef") != "" {
		return fmt.Errorf("%w: %.40q", ErrPlace, place)
	}
	return nil
}

// MaxClients bounds the clients of a place.
const MaxClients = 1024

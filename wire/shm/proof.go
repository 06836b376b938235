package shm

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// What a client and the owner of a place say to each other, each once, with the descriptor of their memory beside it:
//
//	client   mark of the secret (8 bytes), nonce (32), proof (32)
//	owner   proof (32)
//
// A proof is the HMAC-SHA256, with the secret, of who speaks, the name of the place, the client's nonce, and of the
// memory: its file, and the token that is read in it. So it is good for one side, one place and one file, and cannot be
// used again.
const (
	nonceLength = 32
	tokenLength = 32
	helloLength = 8 + nonceLength + sha256.Size
)

// The sides of a meeting.
const (
	clientSide = "switchyard guest"
	ownerSide  = "switchyard owner"
)

// identity says which file a memory is. Two processes of one host see the same device and inode; those of different
// hosts may do so by chance, and then the token differs.
type identity struct {
	device, inode uint64
	token         [tokenLength]byte // read in it
}

// hello is what a client says.
type hello struct {
	mark  uint64 // of the secret, by which the owner finds it
	nonce [nonceLength]byte
	proof [sha256.Size]byte
}

// newHello is the hello of who knows the secret and brings a memory. The nonce is new each time, so an owner cannot
// answer with a proof of before.
func newHello(place string, secret uint64, memory identity) hello {
	h := hello{mark: markOf(secret)}
	rand.Read(h.nonce[:])
	h.proof = prove(clientSide, place, secret, h.nonce, memory)
	return h
}

// encode returns the helloLength bytes of a hello.
func (h *hello) encode() []byte {
	data := binary.BigEndian.AppendUint64(make([]byte, 0, helloLength), h.mark)
	return append(append(data, h.nonce[:]...), h.proof[:]...)
}

// decodeHello reads what encode returns. Nothing in it is believed before its proof is compared.
func decodeHello(data []byte) (h hello, err error) {
	if len(data) != helloLength {
		return h, fmt.Errorf("%w: %d bytes", ErrProof, len(data))
	}
	h.mark = binary.BigEndian.Uint64(data)
	copy(h.nonce[:], data[8:])
	copy(h.proof[:], data[8+nonceLength:])
	return h, nil
}

// markOf names a secret to who knows it, and to nobody else.
func markOf(secret uint64) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("switchyard memory"), secret))
	return binary.BigEndian.Uint64(sum[:])
}

// prove forms the proof of a side. All that goes into it has a fixed length, so no two lists of arguments run
// together to the same bytes.
func prove(side, place string, secret uint64, nonce [nonceLength]byte, memory identity) (proof [sha256.Size]byte) {
	mac := hmac.New(sha256.New, binary.BigEndian.AppendUint64(nil, secret))
	mac.Write([]byte(side))
	mac.Write([]byte(place)) // sides and places have one length each
	mac.Write(nonce[:])
	mac.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, memory.device), memory.inode))
	mac.Write(memory.token[:])
	mac.Sum(proof[:0])
	return proof
}

// proven compares a proof with what it is to be. It takes the same time wherever the two differ.
func proven(got []byte, side, place string, secret uint64, nonce [nonceLength]byte, memory identity) error {
	if want := prove(side, place, secret, nonce, memory); !hmac.Equal(got, want[:]) {
		return fmt.Errorf("%w: it is not of this secret, this place and this memory", ErrProof)
	}
	return nil
}

// newPlace draws the name of a place from 64 random bits: places of one folder do not get in each other's way.
func newPlace() string {
	var b [placeLength / 2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

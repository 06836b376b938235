package wire

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Keys in subjects. A worker publishes on subjects that end in the name of its key, and the broker lets each key
// publish on its own only. So who hears a message learns from the subject, and not from what the message claims, which
// key spoke. Likewise a worker is addressed on subjects that only its key may subscribe to.

// NoKey takes the place of a key's name at a broker that asks for no keys.
const NoKey = "open"

// keyLength is the length of a key's name, in characters: 53 random bits, of which package keys takes care that no two
// keys of a cluster share them.
const keyLength = 12

// KeyName is the name of a key in subjects, logs and lists: the beginning of the public part of an nkey. Empty: NoKey.
func KeyName(public string) string {
	if public == "" {
		return NoKey
	}
	return public[:min(len(public), keyLength)]
}

// By is the subject on which the holder of a key speaks; with AnyKey, the subject on which all of them are heard.
func By(subject, key string) string { return subject + "." + key }

// AnyKey takes the place of a key's name in subscriptions and permissions.
const AnyKey = "*"

// nameSeparator stands between the id that a worker claims and the key that it has proved. Neither can contain it.
const nameSeparator = "@"

// Name is the name of a worker: the id that it claims and the key that it has proved. Two workers with different keys
// never have the same name. Without keys it is the id. An id that is no name gives a name that CheckWorker refuses.
func Name(id, key string) string {
	if key == NoKey && !strings.Contains(id, nameSeparator) {
		return id
	}
	return id + nameSeparator + key
}

// SplitName returns the id and the key of a worker's name. What it returns is not checked: see CheckWorker.
func SplitName(name string) (id, key string) {
	id, key, ok := strings.Cut(name, nameSeparator)
	if !ok {
		return id, NoKey
	}
	return id, key
}

// CheckWorker returns what is wrong with the name of a worker. It returns nil for an id and a key that can both be
// part of a subject.
func CheckWorker(name string) error {
	id, key := SplitName(name)
	if err := setting.Check(id); err != nil {
		return err
	}
	if err := setting.Check(key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

package keys

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
)

// role is what the holder of a key may do at the broker; everything else is denied.
type role struct {
	publish, subscribe []string
}

// roles returns the permissions. A worker may not subscribe to the subjects that workers publish on: their messages
// contain tokens.
func roles() map[string]role {
	return map[string]role{
		CoordinatorKey: {
			publish:   []string{"sy.*.theta", "sy.*.all", "sy.*.worker.*", "sypool.worker.*", "_INBOX.>", "$SRV.>"},
			subscribe: []string{"sy.*.control", "sy.*.data", "sypool.seek", "switchyard.>", "$SRV.>", "_INBOX.>"},
		},
		WorkerKey: {
			publish:   []string{"sy.*.control", "sy.*.data", "sypool.seek"},
			subscribe: []string{"sy.*.theta", "sy.*.all", "sy.*.worker.*", "sypool.worker.*"},
		},
		OperatorKey: {
			publish:   []string{"switchyard.>", "$SRV.>"},
			subscribe: []string{"_INBOX.>"},
		},
	}
}

// user is one key that the broker knows.
type user struct {
	file   string
	public string
	role   role
}

// newSeed makes a key of a user.
func newSeed() ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make an nkey: %w", err)
	}
	defer pair.Wipe()
	seed, err := pair.Seed()
	if err != nil {
		return nil, fmt.Errorf("make an nkey: %w", err)
	}
	return append(seed, '\n'), nil
}

// publicKey is the public part of a seed, by which the broker knows its holder.
func publicKey(file string, seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return "", fmt.Errorf("%w: %s is no nkey seed", ErrDamaged, file) // the error of nkeys may contain the text of the file, which is secret
	}
	defer pair.Wipe()
	public, err := pair.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return "", fmt.Errorf("%w: %s is no nkey of a user", ErrDamaged, file)
	}
	return public, nil
}

// authConf is the broker's list of users. It contains nothing secret.
func authConf(users []user) []byte {
	var b strings.Builder
	b.WriteString(`# Who may do what at the broker; all else is denied. Made by "switchyard init" from the keys beside
# it, and made again whenever they change: do not edit. These are public keys, nothing here is secret.
authorization {
  timeout: 5
  users: [
`)
	for _, u := range users {
		fmt.Fprintf(&b, "    # %s\n    {\n      nkey: %s\n      permissions: {\n", u.file, u.public)
		fmt.Fprintf(&b, "        publish: [%s]\n        subscribe: [%s]\n      }\n    }\n", quoted(u.role.publish), quoted(u.role.subscribe))
	}
	b.WriteString("  ]\n}\n")
	return []byte(b.String())
}

func quoted(subjects []string) string {
	var list []string
	for _, s := range subjects {
		list = append(list, fmt.Sprintf("%q", s))
	}
	return strings.Join(list, ", ")
}

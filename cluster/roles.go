package cluster

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/switchyard-ml/switchyard/wire"
)

// role is what the holder of a key may do at the broker; everything else is denied. Subjects are those of NATS, where
// * is one part and > all that follow.
type role struct {
	publish, subscribe []string
}

// coordinatorRole may address every worker, hears all of them, and tells brokers which keys are banned. With its own
// key it may also be a worker, as those in the process of "train" are: so they have no key that somebody else has.
// "sypool.seek" and "sypool.worker.*" are the subjects of workers of older releases at brokers without keys, who are
// told so.
func coordinatorRole(public string) role {
	own := workerRole(public)
	return role{
		publish: append(own.publish, "sy.*.theta", "sy.*.all", "sy.*.worker.*.*", "sypool.worker.*.*", "sypool.worker.*",
			wire.BansSubject, "_INBOX.>", "$SRV.>"),
		subscribe: append(own.subscribe, "sy.*.control.*", "sy.*.data.*", "sypool.seek.*", "sypool.seek", "switchyard.>",
			"$SRV.>", "_INBOX.>"),
	}
}

// workerRole may speak on the subjects of its own key alone, so that who hears it knows which key spoke, and hears what
// is said to workers with that key and to all. It may not subscribe to the subjects that workers publish on: their
// messages contain tokens. Those that workers say to each other, for which the subject names both, contain none.
func workerRole(public string) role {
	key := wire.KeyName(public)
	return role{
		publish: []string{"sy.*.control." + key, "sy.*.data." + key, "sypool.seek." + key, "sy.*.peer.*.*." + key},
		subscribe: []string{
			"sy.*.theta", "sy.*.all", "sy.*.worker." + key + ".*", "sypool.worker." + key + ".*",
			"sy.*.peer." + key + ".*.*",
		},
	}
}

// operatorRole may ask the coordinator's service.
func operatorRole() role {
	return role{publish: []string{"switchyard.>", "$SRV.>"}, subscribe: []string{"_INBOX.>"}}
}

// user is one key that the broker knows.
type user struct {
	file   string
	public string
	role   role
}

// allow gives a user the permissions of its file. Two keys of workers must differ in their names, by which they are
// told apart. others are the users before it.
func (u *user) allow(others []user) error {
	switch u.file {
	case CoordinatorKey:
		u.role = coordinatorRole(u.public)
	case OperatorKey:
		u.role = operatorRole()
	default:
		u.role = workerRole(u.public)
	}
	for _, o := range others {
		if wire.KeyName(o.public) == wire.KeyName(u.public) {
			return fmt.Errorf("%w: %s and %s begin alike (%s): remove one and create it again", ErrDamaged, o.file, u.file,
				wire.KeyName(u.public))
		}
	}
	return nil
}

// newSeed makes a key of a user. It is a line of text, and secret.
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
		// the error of nkeys may contain the text of the file, which is secret
		return "", fmt.Errorf("%w: %s is no nkey seed", ErrDamaged, file)
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
		fmt.Fprintf(&b, "        publish: [%s]\n        subscribe: [%s]\n      }\n    }\n", quoted(u.role.publish),
			quoted(u.role.subscribe))
	}
	b.WriteString("  ]\n}\n")
	return []byte(b.String())
}

// quoted is a list of subjects for a NATS configuration.
func quoted(subjects []string) string {
	var list []string
	for _, s := range subjects {
		list = append(list, fmt.Sprintf("%q", s))
	}
	return strings.Join(list, ", ")
}

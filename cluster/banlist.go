package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/wire"
)

// ErrKey is returned for what is not the name of a key.
var ErrKey = errors.New("banlist: not the name of a key")

// file is in the folder of the runs. It is not a valid name of a run.
const file = ".bans.json"

// maxFile is the most bytes that are read of the file.
const maxFile = 16 << 20

// interval is the time between two looks at the file, and between two messages to brokers, which may have been started
// anew.
const interval = time.Second

// Load reads the banned keys of a folder of runs. A file that is missing holds none; one that cannot be read, or names
// what is no key, is an error, so that nobody is let in by mistake.
func Load(dir string) ([]wire.Ban, error) {
	path := filepath.Join(dir, file)
	data, err := disk.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the banned keys: %w", err)
	}
	var list []wire.Ban
	err = json.Unmarshal(data, &list)
	for i := 0; err == nil && i < len(list); i++ { // as people write keys
		list[i].Key, err = CheckKey(list[i].Key)
	}
	if err != nil {
		return nil, fmt.Errorf("read the banned keys: %s: %w; put it right, or remove the file, which lets all keys in", path,
			err)
	}
	return list, nil
}

// Save replaces the banned keys of a folder of runs. A crash leaves the old file or the new one.
func Save(dir string, list []wire.Ban) error {
	data, err := json.MarshalIndent(append([]wire.Ban{}, list...), "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = disk.Replace(disk.System(), filepath.Join(dir, file), func(w io.Writer) error {
			_, err := w.Write(append(data, '\n'))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write the banned keys: %w", err)
	}
	return nil
}

// CheckKey returns the name of a key that somebody has typed: a longer text that begins with it will do, as the whole
// public part. The error is ErrKey.
func CheckKey(text string) (string, error) {
	key := wire.KeyName(strings.TrimSpace(text))
	if _, tail, ok := strings.Cut(text, "@"); ok {
		key = wire.KeyName(tail) // a worker's name
	}
	valid := len(key) == len(wire.KeyName(strings.Repeat("U", 99))) && key[0] == 'U' &&
		strings.IndexFunc(key, func(r rune) bool { return !(r >= 'A' && r <= 'Z' || r >= '2' && r <= '7') }) < 0
	if !valid {
		return "", fmt.Errorf("%w: %q; it is the first 12 characters of the public part of an nkey, which begin with U, "+
			"as in nats-auth.conf and after the @ of a worker's name", ErrKey, text)
	}
	return key, nil
}

// AddBan returns a list with a key more, and whether it was not in it before. The list that was given is not changed.
func AddBan(list []wire.Ban, key, reason string, now time.Time) ([]wire.Ban, bool) {
	if slices.ContainsFunc(list, func(b wire.Ban) bool { return b.Key == key }) {
		return list, false
	}
	return append(slices.Clone(list), wire.Ban{Key: key, Since: now.UTC().Truncate(time.Second), Reason: reason}), true
}

// RemoveBan returns a list without a key, and whether it was in it. The list that was given is not changed.
func RemoveBan(list []wire.Ban, key string) ([]wire.Ban, bool) {
	rest := slices.DeleteFunc(slices.Clone(list), func(b wire.Ban) bool { return b.Key == key })
	return rest, len(rest) < len(list)
}

// BanList has the banned keys, and keeps gate, file and brokers alike. Several goroutines may use it.
type BanList struct {
	Gate *wire.Gate
	dir  string
	bus  wire.Bus
	log  hclog.Logger

	mu     sync.Mutex      // guards the fields below, and changes of list and file
	saved  []wire.Ban      // in the file
	told   []wire.Ban      // in the log
	stamp  stamp           // of the file when it was last read or written
	warned map[string]bool // keys of which it was logged that their messages are dropped
}

// stamp tells versions of a file apart. The zero stamp is that of a missing file.
type stamp struct {
	time time.Time
	size int64
}

// NewBanList reads the banned keys of a folder and makes a gate, for a process that connects with that bus. It starts
// nothing: see Run.
func NewBanList(dir string, bus wire.Bus, log hclog.Logger) (*BanList, error) {
	list, err := Load(dir)
	if err != nil {
		return nil, err
	}
	k := &BanList{
		Gate: wire.NewGate(list, bus.Key()), dir: dir, bus: bus, log: log, saved: list, told: list, warned: map[string]bool{},
	}
	k.stamp = k.look()
	for _, b := range list {
		log.Info("key is banned", "key", b.Key, "since", b.Since.Format(time.DateTime), "reason", b.Reason)
	}
	return k, nil
}

// Run keeps all alike until ctx ends. Brokers are told every second, as one of them may have been started since.
func (k *BanList) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	k.tell()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.Gate.Changed():
			k.keep()
		case <-ticker.C:
			k.reread()
		}
		k.tell()
	}
}

// Ban bans a key until Unban. It reports whether it was not banned before. An error says that the file could not be
// written; the ban holds in this process.
func (k *BanList) Ban(key, reason string) (bool, error) {
	return k.change(func(list []wire.Ban) ([]wire.Ban, bool) { return AddBan(list, key, reason, time.Now()) })
}

// Unban lets a key in again. It reports whether it was banned.
func (k *BanList) Unban(key string) (bool, error) {
	return k.change(func(list []wire.Ban) ([]wire.Ban, bool) { return RemoveBan(list, key) })
}

// change applies a change to the gate, the file and the brokers, one at a time.
func (k *BanList) change(how func([]wire.Ban) ([]wire.Ban, bool)) (bool, error) {
	k.mu.Lock()
	k.follow()
	list, changed := how(k.Gate.Bans())
	if changed {
		k.Gate.SetBans(list)
	}
	err := k.save()
	k.mu.Unlock()
	k.tell()
	return changed, err
}

// keep logs what the gate has found, and saves it. A key is warned of once.
func (k *BanList) keep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.follow()
	for _, o := range k.Gate.Offenders() {
		if !k.warned[o.Key] && !k.Gate.Banned(o.Key) {
			k.warned[o.Key] = true
			k.log.Warn("messages of a key are dropped: they are more than workers send", "key", o.Key, "dropped", Sum(o))
		}
	}
	if err := k.save(); err != nil {
		k.log.Error("banned keys could not be written: bans hold in this process", "error", err)
	}
}

// Sum says what was dropped of a key, as "3 hello, 7 seek".
func Sum(o wire.Offender) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(o.Dropped)) {
		parts = append(parts, fmt.Sprintf("%d %s", o.Dropped[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// save writes the gate's list if it differs from the file's, and logs what is new in it. After an error the file is as
// it was, and reread tries again. The lock is held.
func (k *BanList) save() error {
	list := k.Gate.Bans()
	for _, b := range list {
		if _, news := AddBan(k.told, b.Key, "", b.Since); news {
			k.log.Warn("key banned: nothing that its workers say is heard", "key", b.Key, "reason", b.Reason, "remedy",
				"switchyard unban "+b.Key)
		}
	}
	for _, b := range k.told {
		if _, gone := AddBan(list, b.Key, "", b.Since); gone {
			k.log.Info("key is let in again", "key", b.Key)
			delete(k.warned, b.Key)
		}
	}
	k.told = list
	if slices.Equal(list, k.saved) {
		return nil
	}
	if err := Save(k.dir, list); err != nil {
		return err
	}
	k.saved, k.stamp = list, k.look()
	return nil
}

// reread brings file and gate together. What could not be written before is tried again; the log has the error.
func (k *BanList) reread() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.follow()
	_ = k.save()
}

// follow takes over what somebody has written into the file, so that a ban can be made and lifted by hand. It comes
// before each save, which would undo that. What the gate has found since the last save stays. A file that cannot be
// read changes nothing. The lock is held.
func (k *BanList) follow() {
	now := k.look()
	// It is read only when its time or size has changed.
	if now == k.stamp {
		return
	}
	k.stamp = now
	list, err := Load(k.dir)
	if err != nil {
		k.log.Error("the banned keys stay as they were", "error", err)
		return
	}
	before := k.saved
	k.saved = list
	for _, b := range k.Gate.Bans() {
		_, unsaved := AddBan(before, b.Key, "", b.Since)
		if _, news := AddBan(list, b.Key, "", b.Since); unsaved && news {
			list = append(slices.Clone(list), b)
		}
	}
	k.Gate.SetBans(list)
}

// look returns the stamp of the file as it is.
func (k *BanList) look() stamp {
	info, err := os.Stat(filepath.Join(k.dir, file))
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// tell tells brokers of ours which keys to let in no more. Other brokers have nobody who listens. A message that is
// lost is followed by the next.
func (k *BanList) tell() {
	if k.bus.Key() == wire.NoKey {
		return
	}
	names := []string{}
	for _, b := range k.Gate.Bans() {
		names = append(names, b.Key)
	}
	data, err := json.Marshal(names)
	if err == nil {
		err = k.bus.Publish(wire.BansSubject, data)
	}
	if err != nil {
		k.log.Debug("the brokers are not told of banned keys", "error", err)
	}
}

// Dir is the folder of the list.
func (k *BanList) Dir() string { return k.dir }

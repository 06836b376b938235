package disk

// Act is a change that is about to be made to a disk.
type Act struct {
	Kind  string // create, append, write, sync, close, rename, remove, mkdir, sync folder
	Path  string // of the file or folder; of a rename, the new name
	Bytes int    // to be written
}

// Faulty is a disk that calls fault before each act. If fault returns an error, the act fails with it; a write first
// writes room bytes. fault may be called from several goroutines.
func Faulty(d Disk, fault func(Act) (room int, err error)) Disk { return &faulty{d, fault} }

// faulty is a Disk in front of another one. An act that fault fails does not reach disk, except the first bytes of
// a write and the closing of a file.
type faulty struct {
	disk  Disk
	fault func(Act) (int, error)
}

// do carries out an act unless fault fails it.
func (d *faulty) do(kind, path string, act func() error) error {
	if _, err := d.fault(Act{Kind: kind, Path: path}); err != nil {
		return err
	}
	return act()
}

// open opens a file whose acts are asked for, too.
func (d *faulty) open(kind, path string, open func() (File, error)) (File, error) {
	if _, err := d.fault(Act{Kind: kind, Path: path}); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, path, d}, nil
}

func (d *faulty) Create(path string) (File, error) {
	return d.open("create", path, func() (File, error) { return d.disk.Create(path) })
}

func (d *faulty) Append(path string, size int64) (File, error) {
	return d.open("append", path, func() (File, error) { return d.disk.Append(path, size) })
}

func (d *faulty) Rename(from, to string) error {
	return d.do("rename", to, func() error { return d.disk.Rename(from, to) })
}

func (d *faulty) Remove(path string) error {
	return d.do("remove", path, func() error { return d.disk.Remove(path) })
}

func (d *faulty) Mkdir(path string) error {
	return d.do("mkdir", path, func() error { return d.disk.Mkdir(path) })
}

func (d *faulty) SyncFolder(path string) error {
	return d.do("sync folder", path, func() error { return d.disk.SyncFolder(path) })
}

// faultyFile is an open file of a faulty disk.
type faultyFile struct {
	File
	path string
	disk *faulty
}

// Write writes p, or, if fault fails it, the first room bytes of p, as a disk that becomes full does.
func (f *faultyFile) Write(p []byte) (int, error) {
	room, err := f.disk.fault(Act{Kind: "write", Path: f.path, Bytes: len(p)})
	if err == nil {
		return f.File.Write(p)
	}
	n, writeErr := f.File.Write(p[:min(room, len(p))])
	if writeErr != nil {
		err = writeErr
	}
	return n, err
}

func (f *faultyFile) Sync() error { return f.disk.do("sync", f.path, f.File.Sync) }

// Close always closes the file; otherwise the process would run out of file descriptors.
func (f *faultyFile) Close() error {
	_, err := f.disk.fault(Act{Kind: "close", Path: f.path})
	if closeErr := f.File.Close(); err == nil {
		err = closeErr
	}
	return err
}

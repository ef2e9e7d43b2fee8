package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	recordFile   = "binary.json"
	lockInterval = 200 * time.Millisecond
	temporary    = ".tmp-"
)

// CacheDir is where built parts are kept: $PLIMSOLL_CACHE, or a folder in the user's cache.
func CacheDir() (string, error) {
	if dir := os.Getenv("PLIMSOLL_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w; set PLIMSOLL_CACHE to a folder for built parts", err)
	}
	return filepath.Join(dir, "plimsoll"), nil
}

// entry is the place of one binary in the cache: a folder that holds the
// binary and its record, and is renamed into place when both are complete.
type entry struct {
	dir, name string
	err       error // no cache folder
}

func (r recipe) entry(goVersion string) entry {
	cache, err := CacheDir()
	folder := fmt.Sprintf("%s-%s-%s", r.part.Name, r.version, r.key(goVersion))
	return entry{dir: filepath.Join(cache, "components", folder), name: r.part.Name, err: err}
}

// record lies beside a built binary.
type record struct {
	Version string    `json:"version"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	// Recipe is the key without the Go version, Go that version.
	Recipe string `json:"recipe"`
	Go     string `json:"go"`
}

func (e entry) binary() string { return filepath.Join(e.dir, e.name) }

// cached gives a complete entry. The binary is hashed again only if its time
// says that it is not the one that was recorded.
func cached(e entry) (Binary, bool) {
	rec, err := readRecord(e.dir)
	if err != nil || e.err != nil {
		return Binary{}, false
	}
	info, err := os.Stat(e.binary())
	if err != nil || info.Size() != rec.Size {
		return Binary{}, false
	}
	if !info.ModTime().Equal(rec.ModTime) {
		if sum, err := Hash(e.binary()); err != nil || sum != rec.SHA256 {
			return Binary{}, false
		}
	}
	return Binary{Path: e.binary(), Version: rec.Version, Source: Built, SHA256: rec.SHA256}, true
}

// cachedByAnyToolchain serves a machine that has lost its Go toolchain.
func cachedByAnyToolchain(r recipe) (Binary, bool) {
	unkeyed := r.entry("")
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(unkeyed.dir), r.part.Name+"-"+r.version+"-*"))
	for _, dir := range others {
		if rec, err := readRecord(dir); err != nil || rec.Recipe != r.key("") {
			continue
		}
		if b, ok := cached(entry{dir: dir, name: r.part.Name, err: unkeyed.err}); ok {
			return b, true
		}
	}
	return Binary{}, false
}

func readRecord(dir string) (rec record, err error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(text, &rec)
}

// complete records a fresh binary in folder and makes that folder the entry.
func (e entry) complete(folder string, rec record) error {
	path := filepath.Join(folder, e.name)
	if err := syncFile(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	rec.Size, rec.ModTime = info.Size(), info.ModTime()
	if rec.SHA256, err = Hash(path); err != nil {
		return err
	}
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, recordFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := syncFile(filepath.Join(folder, recordFile)); err != nil {
		return err
	}
	if err := os.RemoveAll(e.dir); err != nil { // a damaged one
		return err
	}
	return os.Rename(folder, e.dir)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lock makes this process the only builder of an entry, and calls waiting each
// time that it finds another one at it. The kernel drops the lock of a process
// that dies.
func lock(ctx context.Context, e entry, waiting func()) (unlock func(), err error) {
	for {
		unlock, err := tryLock(e.dir)
		if err != unix.EWOULDBLOCK {
			return unlock, err
		}
		waiting()
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func tryLock(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

// scratch gives a folder to build in, on the file system of the cache. The
// caller holds the entry's lock.
func (e entry) scratch() (string, error) {
	removeStale(e)
	return os.MkdirTemp(filepath.Dir(e.dir), filepath.Base(e.dir)+temporary)
}

// removeStale removes what killed builds have left: of this entry, and of
// those that nobody else is building.
func removeStale(own entry) {
	folders, _ := filepath.Glob(filepath.Join(filepath.Dir(own.dir), "*"+temporary+"*"))
	for _, folder := range folders {
		dir, _, _ := strings.Cut(folder, temporary)
		if dir != own.dir {
			unlock, err := tryLock(dir)
			if err != nil {
				continue
			}
			defer unlock()
		}
		_ = os.RemoveAll(folder)
	}
}

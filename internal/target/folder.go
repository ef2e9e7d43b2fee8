package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeFolder makes a folder of plimsoll's own in parent, and gives its absolute
// path. parent is not made when it is missing: a mistyped mount point would
// measure the wrong disk. Errors name the way out.
func MakeFolder(parent string) (string, error) {
	dir, err := filepath.Abs(parent)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", parent, err)
	}
	if dir, err = os.MkdirTemp(dir, "plimsoll-"); err != nil {
		return "", fmt.Errorf("%w%s", err, wayOut(err))
	}
	return dir, nil
}

// CheckFolder says whether MakeFolder could make one in parent now.
func CheckFolder(parent string) error {
	dir, err := MakeFolder(parent)
	if err != nil {
		return err
	}
	return os.Remove(dir)
}

func wayOut(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ": the folder must exist; is the disk mounted?"
	case errors.Is(err, syscall.EROFS):
		return ": mount it for writing, or name another folder"
	case errors.Is(err, fs.ErrPermission):
		return ": name a folder that you may write to"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room"
	}
	return ""
}

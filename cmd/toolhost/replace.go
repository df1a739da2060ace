package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile puts a file in place in one step, with this mode. op is the command that does it.
func replaceFile(op, path string, text []byte, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	f, err := os.CreateTemp(dir, ".toolhost-"+op+"-")
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
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

// How long another one's hold on a file is waited for, and after how long it is taken for what a killed process left.
const (
	holdWait = 10 * time.Second
	holdMost = time.Minute
)

// holdFile has one process at a time read a file and replace it, until release is called.
func holdFile(op, path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	name := filepath.Join(filepath.Dir(path), ".toolhost-"+op+"-"+filepath.Base(path)+".hold")
	for end := time.Now().Add(holdWait); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return func() { _ = errors.Join(f.Close(), os.Remove(name)) }, nil // one that stays is old one day
		}
		if !errors.Is(err, fs.ErrExist) && runtime.GOOS != "windows" || time.Now().After(end) {
			return nil, fmt.Errorf("%s: another %[1]s is writing %s, or it cannot be written: %w", op, path, err)
		}
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > holdMost {
			_ = os.Remove(name) // whoever is first
		}
	}
}

package bus

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// maxAccessFile is far more than any file of Access has.
const maxAccessFile = 1 << 20

// readFile reads a file of Access; a secret one must not be for others to read.
func readFile(name string, secret bool) ([]byte, error) {
	f, err := os.Open(name)
	if e, ok := errors.AsType[*fs.PathError](err); ok { // who asks names the file
		return nil, e.Err
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if secret {
		if err := private(info); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAccessFile))
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = errors.New("it is empty")
	}
	return text, err
}

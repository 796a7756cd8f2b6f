package soap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tidings/schema"
)

// Lock is the shape of a published version: its operations with their documents,
// its types and names. A version that has one is served as the lock says, whatever
// the schema would make of it. It is immutable.
type Lock struct {
	// Version (v1), Service and Namespace are those that partners know.
	Version, Service, Namespace string

	file     *lockFile
	contract *contract
	lines    map[string]int // of operations, by their names
}

// lockEnding follows the version in the name of a lock's file: v1.soap.lock.
const lockEnding = ".soap.lock"

// File is the name of the lock's file, beside the schema.
func (l *Lock) File() string { return l.Version + lockEnding }

var elementName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,499}$`)

var versionName = regexp.MustCompile(`^v[1-9][0-9]{0,3}$`)

// ReadLocks reads the locks beside a schema, the oldest first. There may be none.
func ReadLocks(dir fs.FS) ([]*Lock, error) {
	names, err := fs.Glob(dir, "v*"+lockEnding)
	if err != nil {
		return nil, err
	}
	var locks []*Lock
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		l, err := ParseLock(text)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case l.File() != name:
			errs = append(errs, fmt.Errorf("%s is the lock of %s: call it %s", name, l.Version, l.File()))
		default:
			locks = append(locks, l)
		}
	}
	slices.SortFunc(locks, func(a, b *Lock) int { return number(a.Version) - number(b.Version) })
	return locks, errors.Join(errs...)
}

// number orders versions: v10 comes after v9.
func number(version string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(version, "v")) // what is none comes first
	return n
}

// NewLock locks what a schema shows now, as a version.
func NewLock(m *schema.Model, version string, o Options) (*Lock, error) {
	if !versionName.MatchString(version) {
		return nil, fmt.Errorf("a version is called v1, v2 and so on, not %q", version)
	}
	o.Version, o.Locks = version, nil
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newContract(m, o)
	if err != nil {
		return nil, err
	}
	l, err := ParseLock(lockFileOf(c).text())
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", version, err)
	}
	return l, nil
}

// ParseLock reads a lock's file.
func ParseLock(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, fmt.Errorf("a lock has at most %d bytes", maxLock)
	}
	var file lockFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("this is no lock that `api soap lock` of this release wrote: %w", err)
	}
	switch {
	case file.Format != lockFormat:
		return nil, fmt.Errorf("the format is %.40q, but this release knows %q", file.Format, lockFormat)
	case !versionName.MatchString(file.Version) || !plainName(file.Service) || file.Namespace == "":
		return nil, errors.New("version, service and namespace are not all there")
	}
	c, err := file.contract()
	if err != nil {
		return nil, err
	}
	l := &Lock{Version: file.Version, Service: file.Service, Namespace: file.Namespace, file: &file, contract: c, lines: map[string]int{}}
	for i, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, `      "name": "`); ok {
			l.lines[strings.TrimSuffix(strings.TrimSuffix(name, ","), `"`)] = i + 1
		}
	}
	return l, nil
}

// Text is the lock as its file holds it: the same for the same shape.
func (l *Lock) Text() []byte { return l.file.text() }

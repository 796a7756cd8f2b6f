package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// papers go along with the programs.
var papers = []string{"LICENSE", "README.md", "THIRD_PARTY_LICENSES.md"}

// dist makes all that is released into dir, which must be empty or absent.
func dist(dir string) error {
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove what is in it, so that the checksums are of this release alone", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "tidings-release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	for _, p := range platforms {
		at := filepath.Join(stage, filepath.FromSlash(string(p)))
		if err := build(at, p); err != nil {
			return err
		}
		if err := pack(dir, at); err != nil {
			return fmt.Errorf("pack for %s: %w", p, err)
		}
	}
	return sums(dir)
}

// pack makes the archive and the bill of materials of one platform.
func pack(dir, programsAt string) error {
	b, err := read(programsAt)
	if err != nil {
		return err
	}
	name := "tidings-" + b.version + "-" + strings.ReplaceAll(string(b.platform), "/", "-")
	bill, err := os.Create(filepath.Join(dir, name+".cdx.json"))
	if err != nil {
		return err
	}
	if err := errors.Join(sbom(bill, b, "application", name), bill.Close()); err != nil {
		return err
	}
	var files []string
	for _, p := range programs {
		files = append(files, filepath.Join(programsAt, p))
	}
	out, err := os.Create(filepath.Join(dir, name+".tar.gz"))
	if err != nil {
		return err
	}
	return errors.Join(archive(out, name, b.time, append(files, papers...)), out.Close())
}

// archive writes the files into the folder of a tar.gz, in this order, with
// nothing in it that another machine or another hour would have otherwise.
func archive(w io.Writer, folder string, at time.Time, files []string) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	for _, file := range files {
		if err := add(out, folder, at, file); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

func add(out *tar.Writer, folder string, at time.Time, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if slices.Contains(programs, filepath.Base(file)) {
		mode = 0o755
	}
	err = out.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: folder + "/" + filepath.Base(file), Size: int64(len(content)),
		Mode: mode, ModTime: at, Format: tar.FormatPAX,
	})
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(text.String()), 0o644)
}

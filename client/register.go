package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Hash is the SHA-256 of a document, in hexadecimal digits: its id where it is
// registered.
func Hash(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

// notRun is the name of an operation that no document has: a service that gets a
// document with it checks it, takes it up, and does not run it.
const notRun = "tidings_not_run"

// Register has the service keep a document under its Hash, as a client of Apollo's
// does with its first request (APQ), without running it. An error says why the
// document is refused, or that the service does not take any.
func (s *Service) Register(ctx context.Context, document string) error {
	if strings.Contains(document, notRun) {
		return fmt.Errorf("an operation may not be called %s", notRun)
	}
	hash := Hash(document)
	extensions, err := json.Marshal(map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}})
	if err != nil {
		return err
	}
	first, err := s.Do(ctx, Operation{Query: document, Name: notRun, Extensions: extensions})
	if err != nil {
		return err
	}
	if len(first.Errors) == 0 || first.Errors[0].Extensions.Code != "BAD_REQUEST" {
		return refusedBy(first)
	}
	again, err := s.Do(ctx, Operation{Name: notRun, Extensions: extensions})
	if err != nil {
		return err
	}
	if len(again.Errors) == 0 || again.Errors[0].Extensions.Code != "BAD_REQUEST" { // it would say that it does not know the hash
		return fmt.Errorf("the service does not keep documents of clients: it runs with --apq=false or --persisted-only; give it the manifest by --operations (%w)", refusedBy(again))
	}
	return nil
}

func refusedBy(a Answer) error {
	if len(a.Errors) == 0 {
		return fmt.Errorf("the service answers %s", excerpt(a.Body))
	}
	return a.Errors[0]
}

package transfer_test

import (
	"bytes"
	"fmt"
	"testing"

	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/schema"
	"tidings/transfer"
)

// BenchmarkImport imports records with a unique value each into an empty log; the
// server is in the same process. At least 5,000 records a second on one core are
// asked for.
func BenchmarkImport(b *testing.B) {
	m, err := schema.Load(files)
	if err != nil {
		b.Fatal(err)
	}
	var file bytes.Buffer
	const records = 10_000
	for i := range records {
		fmt.Fprintf(&file, `{"type":"User","record":{"id":"u%d","name":"User %d","email":"u%d@example.com","tags":["a","b"],"createdAt":"2024-05-01T10:00:00Z"}}`+"\n", i, i, i)
	}
	for b.Loop() {
		to := bustest.New(b)
		if _, err := transfer.Check(m, bytes.NewReader(file.Bytes()), transfer.ImportOptions{}); err != nil {
			b.Fatal(err)
		}
		r, err := transfer.Import(b.Context(), to, m, bytes.NewReader(file.Bytes()), transfer.ImportOptions{})
		if err != nil || r.Loaded[resource.LoadedNew] != records {
			b.Fatal(r.Loaded, err)
		}
	}
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "records/s")
}

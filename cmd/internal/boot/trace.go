package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"tidings/internal/proc"
	"tidings/internal/trace"
)

// Logger returns the logger of a process, whose lines tell the trace they belong to.
func (c Config) Logger(w io.Writer) (*slog.Logger, error) {
	log, err := proc.Logger(w, c.LogLevel, c.Dev)
	if err != nil {
		return nil, err
	}
	return slog.New(trace.Handler(log.Handler())), nil
}

// openTracer makes the process's tracer; it is nil when nothing says where spans go.
func (r *Rooms) openTracer() (err error) {
	c := r.config
	sample, err := c.traceSample()
	if err != nil {
		return err
	}
	dropped := r.Metrics.Counter("tidings_spans_dropped_total", "Spans that did not get to the receiver of traces: it was away or too slow, or did not take them.")
	r.Tracer, err = trace.Open(trace.Options{
		Endpoint: c.OTLPEndpoint, Sample: sample, Getenv: os.Getenv,
		Service: "tidings-" + r.role.onBus(), Version: proc.ThisBuild().Version, Instance: instance(),
		Dropped: func(n int) { dropped.Add(n) }, Logger: r.log,
	})
	if err != nil {
		return fmt.Errorf("open the tracer: %w", err)
	}
	return nil
}

// traceSample is the part of the requests that is traced.
func (c Config) traceSample() (float64, error) {
	part, err := strconv.ParseFloat(c.TraceSample, 64)
	if err != nil || !(part >= 0 && part <= 1) {
		return 0, errors.New("TIDINGS_TRACE_SAMPLE (--trace-sample) takes a number from 0 to 1, such as 0.01 for one request of a hundred")
	}
	return part, nil
}

func (c *Config) checkTraces() error {
	_, err := c.traceSample()
	return err
}

// instance names this process among all.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

// flushTime bounds the sending of the last spans: it is a part of the time that a
// process has for its end.
const flushTime = 5 * time.Second

// closeTracer sends the last spans.
func (r *Rooms) closeTracer() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	r.Tracer.Close(ctx)
}

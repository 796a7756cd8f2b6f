package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tidings/internal/sleep"
)

func TestTimePassesUnlessTheContextEndsBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := sleep.For(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin = time.Now()
		if err := sleep.For(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		begin = time.Now()
		for _, d := range []time.Duration{-1, 0, time.Nanosecond, time.Hour} {
			if err := sleep.For(ctx, d); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 0 {
				t.Errorf("%s of a context that has ended: %v after %s", d, err, time.Since(begin))
			}
		}
	})
}

package proc_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/internal/proc"
)

func TestLessIsTakenWhileGoroutinesWaitAndAllAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := time.Duration(0)
		had, mine := time.Duration(0), true
		s := proc.NewStrain(func() time.Duration { return late }, func() time.Duration {
			if mine {
				had += time.Hour
			}
			return had
		})
		pass := func(looks int) float64 {
			for range looks {
				<-time.After(100 * time.Millisecond)
				s.Take(1)
			}
			return s.Share()
		}
		if share := pass(5); share != 1 || !s.Take(1) {
			t.Errorf("at rest it takes %v", share)
		}
		late, mine = time.Second, false
		if share := pass(20); share != 1 {
			t.Errorf("while others have the processors it takes %v", share)
		}
		mine = true
		if share := pass(4); share > 0.4 || share < 0.2 {
			t.Errorf("after 0.4 s of strain it takes %v", share)
		}
		if share := pass(100); share != 0.02 {
			t.Errorf("at last it takes %v", share)
		}
		if !s.Take(50) {
			t.Error("what weighs so much is not taken")
		}
		late = 70 * time.Millisecond
		if share := pass(10); share != 0.02 {
			t.Errorf("when that is as it should be it takes %v", share)
		}
		late = 0
		if share := pass(10); share < 0.4 || share > 0.5 {
			t.Errorf("a second later it takes %v", share)
		}
		<-time.After(time.Minute) // nothing came
		if s.Take(1); s.Share() != 1 {
			t.Errorf("after a minute it takes %v", s.Share())
		}
	})
	var none *proc.Strain
	if !none.Take(1) {
		t.Error("nothing takes nothing")
	}
}

// What Go says of an idle process is not taken for strain.
func TestGoTellsHowLongGoroutinesWait(t *testing.T) {
	t.Parallel()
	s := proc.NewStrain(nil, nil)
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 5 {
		<-tick.C
		s.Take(1)
	}
	for s.Share() != 1 { // on a machine that has much else to do
		if time.Now().After(deadline) {
			t.Fatalf("it takes %v", s.Share())
		}
		<-tick.C
	}
}

// However many ask at once, the share changes once in a tenth of a second.
func TestStrainIsLookedAtOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0 // under the lock of a look
		s := proc.NewStrain(func() time.Duration { looks++; return time.Second }, func() time.Duration { return -1 })
		for range 50 {
			<-time.After(100 * time.Millisecond)
			var asking sync.WaitGroup
			for range 20 {
				asking.Go(func() { s.Take(1) })
			}
			asking.Wait()
		}
		if looks != 50 {
			t.Errorf("%d looks in 50 tenths of a second", looks)
		}
	})
}

package boot

import (
	"context"

	"tidings/auth"
	"tidings/job"
)

// openJobs opens the jobs of all processes, for one that carries them out.
func (r *Rooms) openJobs(ctx context.Context) (*job.Jobs, error) {
	if !r.role.Writes {
		return nil, nil
	}
	c := r.config
	return job.Open(ctx, r.Bus, job.Options{
		Age: c.JobsAge, Bytes: c.JobsBytes, Queued: c.JobsUnfinished, Metrics: r.Metrics, Logger: r.log,
		Standing: func(who auth.Principal) error {
			if err := r.Verifier.Standing(who); err != nil {
				return err
			}
			return r.Accounts.Standing(who)
		},
	})
}

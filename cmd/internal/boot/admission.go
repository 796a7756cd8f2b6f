package boot

import (
	"runtime"

	"tidings/graphql"
)

// queriesPerCPU are the queries at work at once for each processor where no setting
// says how many: enough for some to wait for a database or a service, and so few
// that an answer takes tenths of a second when all want the processor.
const queriesPerCPU = 128

// openAdmission bounds what clients have done at once, where there are clients.
func (r *Rooms) openAdmission() {
	most := r.config.MaxRequests
	if most == 0 {
		most = queriesPerCPU * runtime.GOMAXPROCS(0)
	}
	if r.role.Edge && most > 0 {
		r.Admission = graphql.NewAdmission(most, r.Metrics, r.log)
	}
}

package soap

import "strings"

// Jobs, for work that takes longer than a request: SubmitCreatePosts takes what
// CreatePosts takes, stores it and answers with a job at once; workers carry the
// items out part by part, each as CreatePost; GetJob and GetJobResult tell how far
// it has come, and what came of each.

const (
	kindSubmit    kind = "submit"
	kindJob       kind = "job"
	kindCancelJob kind = "cancel job"
	kindJobResult kind = "job result"
)

// The names of arguments.
const (
	jobID   = "jobId"
	jobPage = "page"
)

const (
	docJobState = "QUEUED, RUNNING, DONE, FAILED or CANCELLED; the last three are final. DONE says that each item was carried out, whether or not it succeeded. New states may appear."
	docJobItem  = "What came of an item: either it succeeded, and the record is there, unless the caller may not read it or the page would be too large; or there is an error."
)

// jobs maps the batches that can be submitted, and adds the operations on jobs
// when there are any.
func (b *builder) jobs(operations []*operation) []*operation {
	var list []*operation
	for _, batch := range operations {
		if batch.kind == kindBatch {
			list = append(list, b.submit(batch))
		}
	}
	if list == nil {
		return nil
	}
	return append(list, b.aboutJobs(list)...)
}

func (b *builder) submit(batch *operation) *operation {
	return &operation{
		name: "Submit" + batch.name, kind: kindSubmit, mutation: true, batch: batch, args: batch.args[:1], result: &part{name: resultName, typ: b.job()},
		doc: batch.one.name + " for up to 10,000 items in the background: the answer is a job, at once. Each item succeeds or fails by itself; those of one record are carried out in their order. Ask " + b.jobName("Get", "") + " how far it is.",
	}
}

// jobName is the name of an operation on jobs. An adopter's own type Job keeps
// its names.
func (b *builder) jobName(verb, what string) string {
	if b.model.Resource("Job") != nil || b.model.Resource("JobResult") != nil {
		return verb + "SubmittedJob" + what
	}
	return verb + "Job" + what
}

// aboutJobs are the operations on jobs of any kind.
func (b *builder) aboutJobs(submits []*operation) []*operation {
	id := &part{name: jobID, doc: "Of the answer to the submission.", typ: b.leaf("ID")}
	page := &part{name: jobPage, doc: "Which page, from 1. Default: 1.", typ: b.leaf("Int"), optional: true, nillable: true}
	result := &part{name: resultName, typ: b.job()}
	return []*operation{
		{name: b.jobName("Get", ""), kind: kindJob, args: []*part{id}, result: result,
			doc: "How far a job has come. Ask again after retryAfterSeconds. Jobs are kept for a day; only their submitter and ADMIN see them."},
		{name: b.jobName("Cancel", ""), kind: kindCancelJob, args: []*part{id}, result: result,
			doc: "Ends a job that goes on. What was carried out stays; up to 100 more items may be."},
		{name: b.jobName("Get", "Result"), kind: kindJobResult, args: []*part{id, page}, result: &part{name: resultName, typ: b.jobPage(submits)},
			doc: "What came of the items of a job, in their order, page by page; a page has at most 100. The pages up to pagesReady can be read while the job goes on."},
	}
}

// job maps the status of a job.
func (b *builder) job() *xsdType {
	t, made := b.declare(&xsdType{name: "SubmittedJob", origin: "the status of a job", form: formObject, doc: "How far a job has come."})
	if made {
		return t
	}
	integer, text, time := b.leaf("Int"), b.leaf("String"), b.leaf("DateTime")
	t.fields = []*part{
		{name: jobID, typ: b.leaf("ID")},
		{name: "operation", doc: "By which it was submitted.", typ: text},
		{name: "state", doc: docJobState, typ: text},
		{name: "reason", doc: "Why it FAILED.", typ: text, nillable: true},
		{name: "done", doc: "So many items were carried out.", typ: integer},
		{name: "failed", doc: "So many of these have an error.", typ: integer},
		{name: "total", doc: "So many items there are.", typ: integer},
		{name: "pages", doc: "So many pages of results there will be.", typ: integer},
		{name: "pagesReady", doc: "So many of these there are.", typ: integer},
		{name: "submittedAt", typ: time},
		{name: "updatedAt", doc: "When it went on last.", typ: time},
		{name: "retryAfterSeconds", doc: "Ask again in so many seconds; nil when the job is over.", typ: integer, nillable: true},
	}
	return t
}

// jobPage maps a page of results. An item has one element for each type of record
// that jobs are about, of which at most one is there.
func (b *builder) jobPage(submits []*operation) *xsdType {
	integer, text := b.leaf("Int"), b.leaf("String")
	item, _ := b.declare(&xsdType{name: "SubmittedJobItem", origin: "the result of a job's item", form: formObject, doc: docJobItem})
	item.fields = []*part{
		{name: "index", doc: "Place among the inputs, from 0.", typ: integer},
		{name: "success", typ: b.leaf("Boolean")},
		{name: refName, typ: text, nillable: true},
	}
	known := map[string]bool{}
	for _, op := range submits {
		record := op.batch.one.result.typ
		if !known[record.name] {
			known[record.name] = true
			item.fields = append(item.fields, &part{name: jobRecordName(record), typ: record, optional: true})
		}
	}
	item.fields = append(item.fields, &part{name: "error", typ: b.batchError(), optional: true})
	page, _ := b.declare(&xsdType{name: "SubmittedJobPage", origin: "a page of a job's results", form: formObject, doc: "Some results of a job."})
	page.fields = []*part{
		{name: jobID, typ: b.leaf("ID")},
		{name: "state", doc: docJobState, typ: text},
		{name: "page", doc: "Which page it is, from 1.", typ: integer},
		{name: "pages", doc: "So many there will be.", typ: integer},
		{name: "items", typ: b.listNamed("SubmittedJobItemList", item)},
	}
	return page
}

// jobRecordName is the element that holds a record in the result of an item. It
// cannot be that of another member.
func jobRecordName(record *xsdType) string {
	name := strings.ToLower(record.name[:1]) + record.name[1:]
	switch strings.ToLower(name) {
	case "index", "success", "error", strings.ToLower(refName):
		return name + "Record"
	}
	return name
}

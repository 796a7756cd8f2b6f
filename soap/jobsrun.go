package soap

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/job"
	"tidings/xmltree"
)

var errNoJobs = fault.New(fault.Unavailable, "no jobs are kept here")

// RunJobs carries out jobs, for this process's share, until ctx ends; then it
// returns nil. It does nothing without Options.Jobs.
func (s *Service) RunJobs(ctx context.Context) error {
	if s.options.Jobs == nil {
		<-ctx.Done()
		return nil
	}
	if s.options.Ready != nil {
		select {
		case <-s.options.Ready:
		case <-ctx.Done():
			return nil
		}
	}
	return s.options.Jobs.Work(ctx, s.carryOut)
}

// jobWidth is how many items of a job are carried out at a time: enough for
// changes to be stored together, few enough to leave room for callers who wait.
const jobWidth = 16

// carryOut is the job.Runner: it runs the job's document with the variables of
// each item.
func (s *Service) carryOut(ctx context.Context, who auth.Principal, p job.Part) []job.Outcome {
	answers := s.engine.ExecuteMany(ctx, who, graphql.Many{Variables: p.Inputs, Width: jobWidth, Request: graphql.Request{
		Query: p.Document, Trusted: true, Counted: true, Sent: &graphql.Sent{ID: p.Command, Since: p.Since, Again: p.Again},
	}})
	if answers.Refused != nil {
		return slices.Repeat([]job.Outcome{jobOutcome(answers.Refused.Body, p.Again)}, len(p.Inputs))
	}
	outcomes := make([]job.Outcome, len(p.Inputs))
	for i, body := range answers.Items {
		outcomes[i] = jobOutcome(body, p.Again)
	}
	return outcomes
}

// jobOutcome reads what came of an item. One that is refused before it is carried
// out, when that was tried again, may have been carried out the first time: by a
// worker with another schema, by which the item was good.
func jobOutcome(body []byte, again bool) job.Outcome {
	res, err := readResult(body)
	switch {
	case err != nil:
		return job.Outcome{Error: fault.Of(err)}
	case res.root != nil:
		return job.Outcome{Result: res.root}
	case len(res.errors) > 0 && res.errors[0].Extensions.Position != "": // it was made, and may not be read
		return job.Outcome{}
	case len(res.errors) > 0:
		f := withoutInput(res.errors[0].failure().Error)
		if again && len(res.errors[0].Path) == 0 && f.Code != fault.Unavailable && f.Code != fault.Timeout {
			f = fault.Wrap(f, fault.Conflict, "the item was begun with and may have been carried out, and cannot be asked for any more, since the service has changed: look, and submit it anew if it is not there (%s)", f.Message)
		}
		return job.Outcome{Error: f}
	}
	return job.Outcome{Error: fault.Of(errors.New("the result is null without an error"))}
}

// runJob carries out an operation on jobs.
func (s *Service) runJob(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	if s.options.Jobs == nil {
		return nil, failed(errNoJobs)
	}
	if err := s.options.Quota.Request(ctx, who); err != nil {
		return nil, failed(err)
	}
	if op.kind == kindJobResult {
		return s.runJobResult(ctx, who, op, r)
	}
	status, f := s.aboutJob(ctx, who, op, r)
	if f != nil {
		return nil, f
	}
	out, err := s.contract.answer(op, r, result{root: encodeStatus(status)}, nil)
	if err != nil {
		return nil, failed(err)
	}
	return out, nil
}

// aboutJob does what is asked, and tells how the job is then.
func (s *Service) aboutJob(ctx context.Context, who auth.Principal, op *operation, r *request) (status job.Status, f *failure) {
	if op.kind == kindSubmit {
		return s.submit(ctx, who, op, r)
	}
	args, err := s.jobArgs(op, r)
	if err != nil {
		return status, failed(err)
	}
	if op.kind == kindCancelJob {
		status, err = s.options.Jobs.Cancel(ctx, who, args.ID)
	} else {
		status, err = s.options.Jobs.Look(ctx, who, args.ID)
	}
	if err != nil {
		return status, failed(err)
	}
	return status, nil
}

// jobArgs are the arguments of the operations on jobs that are there.
type jobArgs struct {
	ID   string `json:"jobId"`
	Page *int   `json:"page"`
}

func (s *Service) jobArgs(op *operation, r *request) (args jobArgs, err error) {
	raw, err := s.contract.variables(op, r.payload)
	if err != nil {
		return args, err
	}
	return args, json.Unmarshal(raw, &args)
}

// runJobResult carries out an operation of kindJobResult. Records that have no
// room in an answer are left out, the largest first.
func (s *Service) runJobResult(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	args, err := s.jobArgs(op, r)
	if err != nil {
		return nil, failed(err)
	}
	number := 1
	if args.Page != nil {
		number = *args.Page
	}
	page, err := s.options.Jobs.Page(ctx, who, args.ID, number-1)
	if err != nil {
		return nil, failed(err)
	}
	for {
		written, left := s.contract.page(op, page)
		out, err := s.contract.answer(op, r, result{root: written}, left)
		if err != nil {
			return nil, failed(err)
		}
		excess := len(out) - (s.bus.MaxPayload() - answerRoom)
		if excess <= 0 || !shed(page.Outcomes, excess) {
			return out, nil
		}
	}
}

// shed leaves out results of so many bytes; false when there are none left.
func shed(outcomes []job.Outcome, excess int) (any bool) {
	for excess > 0 {
		largest := 0
		for i, o := range outcomes {
			if len(o.Result) > len(outcomes[largest].Result) {
				largest = i
			}
		}
		if outcomes[largest].Result == nil {
			break
		}
		excess -= len(outcomes[largest].Result)
		outcomes[largest].Result, any = nil, true
	}
	return any
}

// submit stores a job. Its items count as what they cost at least, before any is
// carried out. What cannot be read of one refuses them all: nothing is begun yet.
func (s *Service) submit(ctx context.Context, who auth.Principal, op *operation, r *request) (status job.Status, f *failure) {
	inputs, err := s.contract.readInputs(op, r.payload)
	if err != nil {
		return status, failed(err)
	}
	if err := s.options.Quota.Spend(ctx, who, len(inputs)); err != nil {
		return status, failed(err)
	}
	var named graphql.Request
	if f := s.identify(r, &named); f != nil {
		return status, f
	}
	key := named.IdempotencyKey
	if key == "" && named.Sent != nil { // a client that sends again what was not answered
		key = "sent-" + named.Sent.ID
	}
	id, err := s.options.Jobs.Submit(ctx, who, job.Order{Kind: op.name, Document: op.batch.one.document, Items: inputs, Key: key})
	if err != nil {
		return status, failed(err)
	}
	if status, err = s.options.Jobs.Look(ctx, who, id); err != nil {
		return status, failed(err)
	}
	return status, nil
}

// readInputs reads the items of a submission.
func (c *contract) readInputs(op *operation, payload xmltree.Elem) ([]job.Input, error) {
	if _, err := c.decode(op, payload, 0); err != nil {
		return nil, err
	}
	var inputs []job.Input
	for list := range payload.Children() { // there is one: object says so
		if err := c.checkInputs(op, list); err != nil {
			return nil, err
		}
		for e := range list.Children() {
			item := c.readItem(op.batch, e)
			if item.err != nil {
				return nil, inItem(len(inputs), item.err)
			}
			inputs = append(inputs, job.Input{Ref: item.ref, Data: item.variables})
		}
	}
	return inputs, nil
}

// checkInputs refuses a list that is none of items.
func (c *contract) checkInputs(op *operation, list xmltree.Elem) error {
	d := &decoder{namespace: c.namespace, parts: op.args, top: list.Parent()}
	if err := d.checkElement(list); err != nil {
		return err
	}
	if !list.Blank() {
		return fault.Input(inputsName, "the list holds text: put each item into an element item")
	}
	for e := range list.Children() {
		if !d.isItem(op.args[0].typ, e) {
			return fault.Input(inputsName, "there is no element %.100s here: the items are called item", e.Name().Local)
		}
	}
	return nil
}

// inItem says of which item an error is.
func inItem(index int, err error) error {
	f := *fault.Of(err)
	at := inputsName + "[" + strconv.Itoa(index) + "]"
	if f.Field != "" {
		at += "." + f.Field
	}
	f.Field = at
	return &f
}

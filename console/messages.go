package console

import (
	"encoding/json"
	"time"

	"tidings/fault"
	"tidings/internal/proc"
)

// What consoles and processes say to each other; docs/bus.md has the forms.

// look asks all processes for their reports. It is published once a second for
// each process whose page is open somewhere.
type look struct {
	From      string     `json:"from"` // which process looks
	Nth       uint64     `json:"nth"`
	Questions []question `json:"questions,omitempty"`
}

// question is what the page wants to know of operations.
type question struct {
	Process string `json:"process,omitempty"` // empty: of all
	Search  string `json:"search,omitempty"`
	Order   string `json:"order"` // DELIVERED, QUEUE or NEWEST
	First   int    `json:"first"`
}

// report answers a look.
type report struct {
	To  string `json:"to"`
	Nth uint64 `json:"nth"`
	identity
	At       time.Time          `json:"at"`
	NotReady string             `json:"notReady,omitempty"`
	Draining bool               `json:"draining,omitempty"`
	Bus      bool               `json:"bus"`
	Open     []string           `json:"open"` // circuit breakers
	Numbers  map[string]float64 `json:"numbers"`
	Log      map[string]float64 `json:"log"`
	Late     []proc.Bucket      `json:"late,omitempty"`
	Groups   []group            `json:"groups,omitempty"`
	Answers  []list             `json:"answers,omitempty"` // one for each question, in their order
}

// group is one of the groups of equal subscriptions.
type group struct {
	Field     string   `json:"field"`
	Name      string   `json:"name"`
	Document  string   `json:"document"`
	Variables string   `json:"variables"`
	Roles     []string `json:"roles"`
	Subject   string   `json:"subject"`
	Members   int      `json:"members"`
	Processes int      `json:"processes"`
}

// list answers a question.
type list struct {
	Question question    `json:"question"`
	At       time.Time   `json:"at,omitzero"` // when it was put together
	Total    int         `json:"total"`
	Nodes    []operation `json:"nodes"`
}

// operation is a subscription under way.
type operation struct {
	Process    string     `json:"process"`
	Connection string     `json:"connection"`
	ID         string     `json:"id"`
	Transport  string     `json:"transport"`
	Client     string     `json:"client"`
	Subject    string     `json:"subject"`
	Roles      []string   `json:"roles"`
	Expires    *time.Time `json:"expires"`
	Name       string     `json:"name"`
	Document   string     `json:"document"`
	Variables  string     `json:"variables"`
	Begun      time.Time  `json:"begun"`
	Delivered  uint64     `json:"delivered"`
	Queue      int        `json:"queue"`
	Sequence   *uint64    `json:"sequence"`
}

// order is what an operator wants of another process.
type order struct {
	By         string  `json:"by"` // subject of the operator
	Connection string  `json:"connection"`
	Operation  *string `json:"operation,omitempty"` // nil: the whole connection
}

// obeyed answers an order.
type obeyed struct {
	Done bool `json:"done"`
}

const (
	// idLength is how long the name of a process is, of the letters A-Z and 2-7.
	idLength = 12
	// maxFirst is how many operations a question asks for, maxQuestions how many
	// questions one look has.
	maxFirst     = 100
	maxQuestions = 8
	maxSearch    = 200
	// maxGroups are told by a process, and shown.
	maxGroups = 20
	// maxReport bounds the operations of a report, in bytes: the bus carries 1 MiB
	// in one message.
	maxReport = 512 << 10
	// The bounds of what clients have written, in bytes, and of names.
	maxDocument  = 2 << 10
	maxVariables = 1 << 10
	maxName      = 200
)

// isProcess reports whether a text is the name of a process, and so one token of
// a subject.
func isProcess(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return len(id) == idLength
}

var errMalformed = fault.New(fault.BadRequest, "this is no message of a console")

func decodeLook(data []byte) (l look, err error) {
	if json.Unmarshal(data, &l) != nil || !isProcess(l.From) || len(l.Questions) > maxQuestions {
		return look{}, errMalformed
	}
	for i := range l.Questions {
		if !l.Questions[i].good() {
			return look{}, errMalformed
		}
	}
	return l, nil
}

// good reports whether a question is within bounds.
func (q question) good() bool {
	return q.First >= 0 && q.First <= maxFirst && len(q.Search) <= maxSearch && (q.Process == "" || isProcess(q.Process)) &&
		(q.Order == "DELIVERED" || q.Order == "QUEUE" || q.Order == "NEWEST")
}

func decodeReport(data []byte) (r report, err error) {
	if json.Unmarshal(data, &r) != nil || !isProcess(r.ID) || len(r.Answers) > maxQuestions || len(r.Groups) > maxGroups {
		return report{}, errMalformed
	}
	for _, a := range r.Answers {
		if !a.Question.good() || len(a.Nodes) > maxFirst {
			return report{}, errMalformed
		}
	}
	if !r.bounded() {
		return report{}, errMalformed
	}
	return r, nil
}

func decodeOrder(data []byte) (o order, err error) {
	if json.Unmarshal(data, &o) != nil || o.Connection == "" || o.By == "" {
		return order{}, errMalformed
	}
	return o, nil
}

package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"tidings/fault"
)

func TestOf(t *testing.T) {
	t.Parallel()
	own := fault.New(fault.NotFound, "no %s", "user")
	for _, c := range []struct {
		err     error
		code    fault.Code
		message string
	}{
		{own, fault.NotFound, "no user"},
		{fmt.Errorf("read: %w", own), fault.NotFound, "no user"},
		{fault.New("OF_THEIR_OWN", "hunter2"), fault.Internal, "internal error"},
		{errors.New("password is hunter2"), fault.Internal, "internal error"},
		{context.DeadlineExceeded, fault.Timeout, "the operation took too long"},
		{fmt.Errorf("x: %w", context.Canceled), fault.Unavailable, "the operation was cancelled"},
	} {
		if f := fault.Of(c.err); f.Code != c.code || f.Message != c.message {
			t.Errorf("%v: %s %q", c.err, f.Code, f.Message)
		}
	}
	if fault.Of(nil) != nil || fault.Is(nil, fault.Internal) {
		t.Error("nil is a fault")
	}
}

func TestTheCauseStaysBehind(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(fault.Wrap(errors.New("secret"), fault.Internal, "internal error"))
	if err != nil || string(data) != `{"code":"INTERNAL","message":"internal error"}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestDecodeReadsWhatAnotherProcessWrote(t *testing.T) {
	t.Parallel()
	data, _ := json.Marshal(fault.Input("input.email", "not an email"))
	if f := fault.Decode(data); f.Code != fault.BadUserInput || f.Field != "input.email" || f.Message != "not an email" {
		t.Errorf("%+v", f)
	}
	for _, foreign := range []string{"", "{}", "boom", `{"message":"x"}`, `[1]`, `{"code":"OF_THEIR_OWN","message":"x"}`} {
		if f := fault.Decode([]byte(foreign)); f.Code != fault.Internal || f.Message != "internal error" {
			t.Errorf("%q: %+v", foreign, f)
		}
	}
}

func TestTheCodesAreAClosedSet(t *testing.T) {
	t.Parallel()
	if !fault.Internal.Known() || !fault.BadRequest.Known() || fault.Code("").Known() || fault.Code("OF_THEIR_OWN").Known() {
		t.Error("a code is wrongly known or unknown")
	}
}

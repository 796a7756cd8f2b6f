package edge

import (
	"net"

	"tidings/cmd/internal/boot"
	"tidings/console"
)

// openConsole makes the operators' console, if the settings want one; its page is
// a part of the admin port; nil: there is no such port.
func (e *edge) openConsole(c boot.Config, admin net.Listener) (err error) {
	if !c.Console {
		return nil
	}
	o := console.Options{
		Bus: e.rooms.Bus, Metrics: e.rooms.Metrics, Ready: e.ready, Role: "api", Hub: e.hub,
		Groups: e.rooms.Groups, Text: e.rooms.Text, Feed: e.rooms.Feed, Revoke: e.rooms.Revoke, Logger: e.log,
	}
	if c.NATSURL == "" {
		o.Role = "api and worker"
	}
	if admin != nil {
		o.Verifier = e.rooms.Verifier
		e.consoleURL = localURL(admin.Addr(), false) + "/console"
	}
	e.console, err = console.New(o)
	return err
}

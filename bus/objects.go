package bus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Objects is an object store of NATS (ADR-20), for what is larger than a
// message. Who reads needs no consumer and no right but that of direct gets. Its
// methods may run concurrently. It ends with the bus.
type Objects struct {
	bus         *Bus
	name        string
	stream      string
	description string
	keep        time.Duration
	most        int64
}

// Object is one object as the store describes it.
type Object struct {
	Name   string
	Size   int64
	Stored time.Time
	Meta   map[string]string // what its writer says of it

	nuid   string // names its chunks
	digest string
}

// ObjectsOptions says how a store is kept that Ensure creates.
type ObjectsOptions struct {
	// Name is one token of the letters [A-Za-z0-9_-]; the store is called
	// <prefix>-<name>.
	Name string
	// Description is shown to operators.
	Description string
	// MaxAge is how long an object is kept. Zero means for ever.
	MaxAge time.Duration
	// MaxBytes bounds the store. Zero means no bound.
	MaxBytes int64
}

// Objects names an object store. Nothing is sent.
func (b *Bus) Objects(o ObjectsOptions) *Objects {
	name := b.subjects.Bucket(o.Name)
	return &Objects{bus: b, name: name, stream: "OBJ_" + name, description: o.Description, keep: o.MaxAge, most: o.MaxBytes}
}

const (
	chunkSize = 128 << 10
	// A run of chunks is bounded by these.
	chunkRun      = 32
	chunkRunBytes = 4 << 20
)

// objectInfo is how ADR-20 describes an object.
type objectInfo struct {
	Name    string            `json:"name"`
	Meta    map[string]string `json:"metadata"`
	NUID    string            `json:"nuid"`
	Size    int64             `json:"size"`
	Digest  string            `json:"digest"`
	Deleted bool              `json:"deleted"`
}

// List returns the objects, the oldest first; none when there is no store.
func (o *Objects) List(ctx context.Context) (list []Object, err error) {
	ctx, cancel := o.bus.bound(ctx)
	defer cancel()
	filter := "$O." + o.name + ".M.*"
	if there, err := o.exists(ctx, filter); err != nil || !there {
		return nil, err
	}
	err = o.each(ctx, filter, func(m Message) error {
		var i objectInfo
		if json.Unmarshal(m.Data, &i) == nil && !i.Deleted && i.NUID != "" {
			list = append(list, Object{Name: i.Name, Size: i.Size, Stored: m.Time, Meta: i.Meta, nuid: i.NUID, digest: i.Digest})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the objects of %s: %w", o.name, err)
	}
	return list, nil
}

// exists reports whether somebody answers for the store.
func (o *Objects) exists(ctx context.Context, filter string) (bool, error) {
	req, err := json.Marshal(getRequest{Seq: 1, NextFor: filter})
	if err != nil {
		return false, err
	}
	_, err = insist(ctx, func(ctx context.Context) (*nats.Msg, error) {
		return o.bus.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+o.stream, req)
	})
	if errors.Is(err, nats.ErrNoResponders) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the objects of %s: %w", o.name, unavailable(err))
	}
	return true, nil
}

// Read writes the object into w. It fails when the object is not whole, or not
// what its writer has stored; w has some of it then.
func (o *Objects) Read(ctx context.Context, object Object, w io.Writer) error {
	sum, size := sha256.New(), int64(0)
	both := io.MultiWriter(w, sum)
	err := o.each(ctx, "$O."+o.name+".C."+object.nuid, func(m Message) error {
		size += int64(len(m.Data))
		_, err := both.Write(m.Data)
		return handed(err)
	})
	if h, ok := err.(fnError); ok {
		return h.error
	}
	digest := "SHA-256=" + base64.URLEncoding.EncodeToString(sum.Sum(nil))
	switch {
	case err != nil:
	case size != object.Size:
		err = fmt.Errorf("it has %d bytes, and should have %d", size, object.Size)
	case digest != object.digest:
		err = errors.New("its bytes are not those that were stored")
	}
	if err != nil {
		return fmt.Errorf("read the object %s of %s: %w", object.Name, o.name, err)
	}
	return nil
}

// each hands over the messages of a subject, each once, in order. A run that was
// cut goes on where it was.
func (o *Objects) each(ctx context.Context, filter string, fn func(Message) error) error {
	r, err := o.bus.newReaderOf(o.stream, chunkRun, chunkRunBytes)
	if err != nil {
		return err
	}
	defer r.close()
	for pos, stuck := uint64(0), 0; ; {
		reached, end, err := r.batch(ctx, filter, pos, fn)
		switch {
		case err != nil:
			return err
		case end != cut:
			return nil
		case reached == pos:
			if stuck++; stuck == 3 {
				return errSilent
			}
		default:
			stuck = 0
		}
		pos = reached
	}
}

// Write stores what r reads under the name, in a store that is there. What a
// writer that was killed has left is removed by Sweep.
func (o *Objects) Write(ctx context.Context, name string, meta map[string]string, r io.Reader) error {
	ctx, cancel := o.bus.bound(ctx)
	defer cancel()
	store, err := o.open(ctx)
	if err == nil {
		_, err = store.Put(ctx, jetstream.ObjectMeta{Name: name, Metadata: meta, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}}, full{r})
	}
	if err != nil {
		return fmt.Errorf("write the object %s of %s: %w", name, o.name, unavailable(err))
	}
	return nil
}

func (o *Objects) open(ctx context.Context) (jetstream.ObjectStore, error) {
	return insist(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) { return o.bus.js.ObjectStore(ctx, o.name) })
}

// full fills what it reads into, so that all chunks but the last have one size.
type full struct{ r io.Reader }

func (f full) Read(p []byte) (n int, err error) {
	n, err = io.ReadFull(f.r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// Delete removes an object. That there is none is no error.
func (o *Objects) Delete(ctx context.Context, name string) error {
	ctx, cancel := o.bus.bound(ctx)
	defer cancel()
	store, err := o.open(ctx)
	if err == nil {
		err = store.Delete(ctx, name)
	}
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("delete the object %s of %s: %w", name, o.name, unavailable(err))
	}
	return nil
}

// Sweep removes the chunks that belong to no object, and of which the last was
// stored before a time when nobody who lives can have written them: those of
// writers who were interrupted.
func (o *Objects) Sweep(ctx context.Context, before time.Time) error {
	ctx, cancel := o.bus.bound(ctx)
	defer cancel()
	objects, err := o.List(ctx)
	if err != nil {
		return err
	}
	stream, err := o.bus.look(ctx, o.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return unavailable(err)
	}
	chunks := "$O." + o.name + ".C."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(chunks+"*"))
	if err != nil {
		return unavailable(err)
	}
	for subject := range info.State.Subjects {
		nuid := strings.TrimPrefix(subject, chunks)
		if slices.ContainsFunc(objects, func(x Object) bool { return x.nuid == nuid }) {
			continue
		}
		if m, err := stream.GetLastMsgForSubject(ctx, subject); err != nil || !m.Time.Before(before) {
			continue
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// Ensure creates the store when it is absent.
func (o *Objects) Ensure(ctx context.Context) error {
	ctx, cancel := o.bus.bound(ctx)
	defer cancel()
	c := jetstream.StreamConfig{
		Name:        o.stream,
		Description: o.description,
		Subjects:    []string{"$O." + o.name + ".C.>", "$O." + o.name + ".M.>"},
		Storage:     o.bus.streamConfig().Storage,
		Replicas:    o.bus.opts.Replicas,
		MaxAge:      o.keep,
		MaxBytes:    cmp.Or(o.most, -1),
		Discard:     jetstream.DiscardNew,
		AllowRollup: true,
		AllowDirect: true,
	}
	if _, err := o.bus.ensure(ctx, c); err != nil {
		return fmt.Errorf("open the object store %s: %w", o.name, err)
	}
	return nil
}

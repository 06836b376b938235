package coordinator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt; commit a change only if you understand what caused it")

// Each file of testdata is a script for the machine. A line is an event, and the indented lines below it are what the
// machine wants done. Events:
//
//	config key=value …       first line, optional
//	resume step=N            before start, from a checkpoint
//	start | stop | tick TIME
//	hello W [slots=N]        and so on for ready, beat, bye, need
//	beat W [running=LEASE [done=SHARDS]]
//	result W lease=N [lie] [took=MILLISECONDS] [key=value …]    the announcement of a lease, as it should be but for the keys given
//	chunk W lease=N index=I [nan] [bad] [lie]    needs=E in both: what the gradient, as integers, needs
//	verdict N [lie] [fault=TEXT]    what the referee says to question N
//	rewind step=N            back to a checkpoint
//	fetch W [lacking=FIRST+COUNT,…] [hash=H]
func TestMachine_Transcripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, want).out.Bytes()
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the machine does something else (-update rewrites the file); got\n%s", got)
			}
		})
	}
}

// player plays a script.
type player struct {
	m        *machine
	cfg      Config
	now      time.Duration
	leases   map[uint64]*wire.Lease // as they were sent
	receiver *exchange.Receiver     // of the shell
	out      bytes.Buffer           // the script with what the machine wants done
}

// store does what the machine wants of the shell's receiver, and reports whether that was it.
func (p *player) store(c command) bool {
	switch c := c.(type) {
	case expectCommand:
		p.receiver.Expect("r", p.m.term, c.Expectation)
	case closeCommand:
		p.receiver.Close(c.lease)
	default:
		return false
	}
	return true
}

// receive gives the machine a message as the shell does.
func (p *player) receive(msg wire.Message) { p.m.receive(p.now, p.receiver.Take(msg)) }

func play(t *testing.T, script []byte) *player {
	p := &player{leases: make(map[uint64]*wire.Lease), receiver: exchange.NewReceiver(), cfg: Config{
		Run: "r", Steps: 2, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}}
	lines := bufio.NewScanner(bytes.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "\t") {
			continue
		}
		fmt.Fprintln(&p.out, line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if err := p.event(words); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if p.m == nil {
			continue
		}
		for _, c := range p.m.take() {
			if p.store(c) {
				continue
			}
			fmt.Fprintf(&p.out, "\t%s\n", p.describe(c))
		}
	}
	return p
}

// arguments are the key=value words of a line.
type arguments map[string]string

func (a arguments) number(key string, otherwise int) int {
	if a[key] == "" {
		return otherwise
	}
	n, err := strconv.Atoi(a[key])
	if err != nil {
		panic(err)
	}
	return n
}

func (p *player) event(words []string) error {
	args := arguments{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		args[key] = value
	}
	if words[0] == "config" {
		p.cfg.Steps = uint64(args.number("steps", 2))
		p.cfg.Shards = args.number("shards", 4)
		p.cfg.ValidationShards = args.number("validation", 0)
		p.cfg.ValidateEvery = uint64(args.number("every", 0))
		p.cfg.CheckpointEvery = uint64(args.number("every", 0))
		p.cfg.Credit = args.number("credit", 128)
		p.cfg.Data = make([]byte, args.number("data", 0))
		p.cfg.Audit = float64(args.number("audit", 0)) / 100
		p.cfg.Golden = args["golden"]
		p.cfg.Job = []byte(args["job"])
		switch args["exchange"] {
		case "sharded":
			p.cfg.Exchange = Sharded
		case "auto":
			p.cfg.Exchange = Auto
		}
		if args["gradients"] == "int16" {
			p.cfg.Gradients = wire.Int16
		}
		switch args["parameters"] {
		case "delta16":
			p.cfg.Parameters = wire.Int16
		case "delta8":
			p.cfg.Parameters = wire.Int8
		}
		p.cfg.Average = float64(args.number("average", 0)) / 100
		if every := args.number("local", 0); every > 0 {
			p.cfg.Outer = Outer{Rate: 1, Every: uint64(every)}
		}
		if args["kernels"] != "" {
			p.cfg.Numerics = numerics(args["kernels"])
		}
		if _, ok := args["referee"]; ok {
			p.cfg.Referee = func(context.Context, uint64, []float32, wire.Work, vector.Block) ([]float32, []float32, error) {
				panic("the machine only asks")
			}
		}
		return nil
	}
	if p.m == nil {
		theta := make([]float32, 40) // three chunks of at most 16
		p.m = newMachine(p.cfg, theta, p.cfg.Chunk)
	}
	switch words[0] {
	case "resume":
		x := make([]float32, 40)
		p.m.resume(&Checkpoint{Term: 1, Step: uint64(args.number("step", 0)), Theta: x, BestLoss: math.Inf(1)})
	case "start":
		p.m.start(p.now)
	case "stop":
		p.m.stop()
	case "verdict":
		return p.verdict(words[1], args)
	case "rewind":
		x := make([]float32, 40)
		p.m.term++
		p.m.rewind(p.now, &Checkpoint{Step: uint64(args.number("step", 0)), Theta: x, BestLoss: math.Inf(1)})
	case "tick":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		p.now += d
		p.m.dismiss(p.now)
		p.m.tick(p.now)
	default:
		return p.message(words[0], words[1], args)
	}
	return nil
}

func (p *player) message(kind, from string, args arguments) error {
	var msg wire.Message
	lease := p.leases[uint64(args.number("lease", 0))]
	if lease == nil {
		lease = &wire.Lease{ID: uint64(args.number("lease", 0)), Count: 1}
	}
	switch kind {
	case "hello":
		msg = &wire.Hello{Slots: args.number("slots", 1), Numerics: numerics(args["kernels"])}
	case "ready":
		msg = &wire.Ready{Size: args.number("size", 40), Terms: []string{"loss"}, Golden: args["golden"]}
		if len(p.cfg.Job) > 0 {
			msg.(*wire.Ready).Job = wire.HashData([]byte(args["job"]))
		}
	case "beat":
		beat := &wire.Heartbeat{}
		if args["running"] != "" {
			beat.Running = []wire.Progress{{Lease: uint64(args.number("running", 0)), Done: args.number("done", 0)}}
		}
		msg = beat
	case "bye":
		msg = &wire.Bye{}
	case "need":
		msg = &wire.Need{Step: uint64(args.number("step", 0)), Ranges: []wire.Range{{First: args.number("first", 0), Count: args.number("count", 1)}}}
	case "fetch":
		f := &wire.Fetch{Hash: wire.HashData(p.cfg.Data)}
		if args["hash"] != "" {
			f.Hash = args["hash"]
		}
		for r := range strings.SplitSeq(args["lacking"], ",") {
			if first, count, ok := strings.Cut(r, "+"); ok {
				at := arguments{"first": first, "count": count}
				f.Ranges = append(f.Ranges, wire.Range{First: at.number("first", 0), Count: at.number("count", 0)})
			}
		}
		msg = f
	case "result":
		msg = p.result(lease, args)
	case "chunk":
		_, bad := args["bad"]
		index := args.number("index", 0)
		data := p.piece(lease, index, args)
		crc := wire.Checksum(data)
		if bad {
			crc++
		}
		msg = &wire.Chunk{Lease: lease.ID, Step: uint64(args.number("step", int(lease.Step))), Index: index, CRC: crc, Data: data}
	default:
		return fmt.Errorf("unknown event")
	}
	*msg.Head() = wire.Header{Run: "r", From: from, Term: uint64(args.number("term", int(p.m.term))), Token: token(from)}
	if args["token"] != "" {
		msg.Head().Token = token(args["token"])
	}
	p.receive(msg)
	return nil
}

// numerics is a fingerprint like tanh:1,exp:2.
func numerics(text string) (list []wire.Numeric) {
	for part := range strings.SplitSeq(text, ",") {
		if kernel, sum, ok := strings.Cut(part, ":"); ok {
			list = append(list, wire.Numeric{Kernel: kernel, Sum: uint64(arguments{"sum": sum}.number("sum", 0))})
		}
	}
	return list
}

// verdict is what the referee says to a question: what honest workers say, or something else.
func (p *player) verdict(id string, args arguments) error {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return err
	}
	v := trust.Verdict{ID: n}
	if args["fault"] != "" {
		v.Err = errors.New(args["fault"])
	}
	if t := p.m.judgement.question(n); t != nil {
		l := &wire.Lease{Work: t.round.work, Count: t.Block.Count}
		v.Values, v.Terms = partial(l, args)
	}
	p.m.verdict(p.now, v)
	return nil
}

// partial is what a worker computes for a lease: the number of shards everywhere, or one less if it lies.
func partial(l *wire.Lease, args arguments) (values, terms []float32) {
	x := float32(l.Count)
	if _, lie := args["lie"]; lie {
		x--
	}
	if l.Work == wire.Gradient {
		values = make([]float32, 40)
		for i := range values {
			values[i] = x
		}
		if args["needs"] != "" { // integers: one block of parameters
			values = append(values, float32(args.number("needs", 0)))
		}
	}
	return values, []float32{float32(l.Count)}
}

// cut says how the sum of a lease of sections is cut, and sum is that: the number of shards everywhere, or one less if it
// is a lie.
func (p *player) sum(l *wire.Lease, args arguments) (cut wire.Chunking, values []float32) {
	cut = wire.Sections{Chunks: wire.NewChunking(40, 64), Count: l.Sections}.Cut(l.First, l.Count)
	whole, _ := partial(&wire.Lease{Work: wire.Gradient, Count: p.cfg.Shards}, args)
	return cut, whole[:cut.Size]
}

// piece is chunk i of what a lease asks for.
func (p *player) piece(l *wire.Lease, i int, args arguments) []byte {
	if l.Work != wire.Sum {
		return piece(l, i, args)
	}
	cut, values := p.sum(l, args)
	return cut.Encode(nil, values, min(i, cut.Count()-1))
}

// token is the secret of a worker.
func token(id string) uint64 { return uint64(wire.Checksum([]byte(id))) }

// piece is chunk i of a lease's gradient, with a NaN at the end if wanted.
func piece(l *wire.Lease, i int, args arguments) []byte {
	values, _ := partial(&wire.Lease{Work: wire.Gradient, Count: l.Count}, args)
	if len(values) > 40 {
		return wire.Int16.Chunking(len(values), 64).Encode(nil, values, i)
	}
	x := values[min(16*i, 40):min(16*(i+1), 40)]
	if _, nan := args["nan"]; nan {
		x[len(x)-1] = float32(math.NaN())
	}
	return wire.FloatBytes(x)
}

// asLease is a reduce lease in the form of a lease.
func asLease(m *wire.Reduce) *wire.Lease {
	return &wire.Lease{ID: m.ID, Step: m.Step, Pass: m.Pass, Attempt: m.Attempt, Work: wire.Sum, First: m.First, Count: m.Count, Audit: m.Audit, Sections: m.Sections}
}

func (p *player) result(l *wire.Lease, args arguments) *wire.Result {
	values, terms := partial(l, args)
	r := &wire.Result{
		Lease: l.ID, Step: uint64(args.number("step", int(l.Step))), Attempt: l.Attempt, Work: l.Work,
		First: args.number("first", l.First), Count: l.Count, Terms: terms, Fault: args["fault"],
		Took: time.Duration(args.number("took", 0)) * time.Millisecond,
	}
	sections := wire.Sections{Chunks: wire.NewChunking(40, 64), Count: l.Sections}
	if l.Work == wire.Gradient && l.Sections > 0 {
		r.Digests = sections.DigestsOf(0, l.Sections, values)
	}
	switch {
	case l.Work == wire.Sum:
		cut, sum := p.sum(l, args)
		if r.Terms = nil; l.Audit {
			r.Digest = wire.DigestPartial(sum, nil)
		} else {
			r.Length, r.Checksum = args.number("length", cut.Size), cut.ChecksumOf(sum)
		}
	case l.Audit && l.Sections > 0:
	case l.Audit:
		r.Digest = wire.DigestPartial(values, terms)
	case l.Work == wire.Gradient:
		last := arguments{}
		for _, key := range []string{"nan", "lie"} {
			if _, ok := args[key]; ok {
				last[key] = ""
			}
		}
		lie := arguments{}
		if _, ok := args["lie"]; ok {
			lie["lie"] = ""
		}
		r.Length = args.number("length", len(values))
		if len(values) > 40 {
			r.Checksum = wire.Int16.Chunking(len(values), 64).ChecksumOf(values)
			break
		}
		r.Checksum = wire.Combine([]uint32{
			wire.Checksum(piece(l, 0, lie)), wire.Checksum(piece(l, 1, lie)), wire.Checksum(piece(l, 2, last)),
		})
	}
	return r
}

func (p *player) describe(c command) string {
	switch c := c.(type) {
	case sendCommand:
		to := c.to
		if to == "" {
			to = "all"
		}
		return "to " + to + ": " + p.describeMessage(c.message)
	case thetaCommand:
		to := c.To
		if to == "" {
			to = "all"
		}
		text := fmt.Sprintf("to %s: parameters of step %d, chunks %d+%d", to, p.m.run.opt.step, c.First, c.Count)
		if c.Base.Step > 0 {
			text += fmt.Sprintf(", as differences to step %d, pass %d", c.Base.Step-1, c.Base.Pass)
		}
		return text
	case relayCommand:
		text := fmt.Sprintf("parameters of step %d", p.m.run.opt.step)
		for i, to := range c.To {
			if i < c.Sections.Count {
				text += fmt.Sprintf(", chunks %d+%d to %s", c.Sections.First(i), c.Sections.First(i+1)-c.Sections.First(i), to.ID)
			} else {
				text += ", none to " + to.ID
			}
		}
		for _, to := range c.Direct {
			text += ", all to " + to
		}
		return text + ", to be handed on"
	case pieceCommand:
		return fmt.Sprintf("to %s: piece %d of the data set", c.to, c.index)
	case rejectCommand:
		return fmt.Sprintf("refuse %s of %q: %s", c.reason, c.worker, c.detail)
	case checkpointCommand:
		return fmt.Sprintf("checkpoint of step %d, best %v", c.state.Step, c.best)
	case logCommand:
		return fmt.Sprintf("log step %d, blocks %v", c.entry.Step, c.entry.Blocks)
	case eventCommand:
		return fmt.Sprintf("event %s of %s: %s", c.event.Kind, c.event.Worker, c.event.Reason)
	case widenCommand:
		return fmt.Sprintf("%d blocks of the gradient do not fit step %d, which is computed once more; exponents %v",
			c.blocks, c.step, p.m.run.integers.Exponents())
	case refereeCommand:
		return fmt.Sprintf("ask the referee %d: %s of shards %s", c.ID, c.Work, c.Block)
	case exchangeCommand:
		return "the coordinator sums itself: " + c.why
	case chosenCommand:
		return fmt.Sprintf("chosen: %v: %s", c.mode, c.why)
	case rollbackCommand:
		return fmt.Sprintf("go back to step %d at most: %s", c.step, c.reason)
	case finishCommand:
		return fmt.Sprintf("finish: %v", c.err)
	case StepReport:
		text := fmt.Sprintf("step %d: loss %v, norm %g, rate %g, workers %d", c.Step, c.Loss, c.GradNorm, c.Rate, c.Workers)
		if c.Work > 0 {
			text += fmt.Sprintf(", computed %g s, together %g s", c.Compute, c.Work)
		}
		return text
	case ValidationReport:
		return fmt.Sprintf("validation at step %d: loss %v, best %v", c.Step, c.Loss, c.Best)
	case MembershipReport:
		return fmt.Sprintf("members: %+v", c)
	}
	return fmt.Sprintf("%T", c)
}

func (p *player) describeMessage(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Introduce:
		return "introduce yourself"
	case *wire.Welcome:
		text := fmt.Sprintf("welcome, size %d, chunk %d, heartbeat %v", m.Size, m.Chunk, m.Heartbeat)
		if m.DataHash != "" {
			text += fmt.Sprintf(", data set %.8s of %d bytes", m.DataHash, m.DataSize)
		}
		if m.Gradients == wire.Int16 {
			text += fmt.Sprintf(", gradients as integers for %d shards, tensors %v", m.Shards, m.Tensors)
		}
		if m.Parameters != wire.Float32 {
			text += fmt.Sprintf(", parameters as differences of %d bytes, tensors %v", m.Parameters.Width(), m.Tensors)
		}
		return text
	case *wire.Refusal:
		return fmt.Sprintf("refusal: %s; %s", m.Reason, m.Remedy)
	case *wire.Lease:
		p.leases[m.ID] = m
		audit := ""
		if m.Sections > 0 {
			audit = fmt.Sprintf(", in %d sections", m.Sections)
		}
		if m.Audit {
			audit += ", for the digest"
		}
		pass := ""
		if m.Pass > 0 {
			pass = fmt.Sprintf(", pass %d", m.Pass)
		}
		return fmt.Sprintf("lease %d: %s, step %d%s, shards %d+%d, attempt %d%s", m.ID, m.Work, m.Step, pass, m.First, m.Count, m.Attempt, audit)
	case *wire.Reduce:
		p.leases[m.ID] = asLease(m)
		text := fmt.Sprintf("lease %d: sum %d of sections %d+%d of %d, step %d, attempt %d, of", m.ID, m.Number, m.First, m.Count, m.Sections, m.Step, m.Attempt)
		for _, s := range m.Sources {
			text += fmt.Sprintf(" shards %d+%d of %s (lease %d)", s.First, s.Count, s.Holder, s.Lease)
		}
		if m.Audit {
			text += ", for the digest"
		}
		return text
	case *wire.Pull:
		return fmt.Sprintf("pull lease %d, chunks %d+%d", m.Lease, m.First, m.Count)
	case *wire.Stay:
		return fmt.Sprintf("chunks 0+%d of the parameters of step %d are in pass %d what they were in pass %d", m.Count, m.Step, m.Pass, m.BasePass)
	case *wire.End:
		return "end: " + m.Reason
	}
	return fmt.Sprintf("%T", m)
}

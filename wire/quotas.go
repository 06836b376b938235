package wire

// quota is how many messages of a kind the holders of one key may send: burst at once, rate per second, and each
// worker that has delivered each more per second. All are several times what honest workers with a heartbeat of a tenth
// of a second send; a fleet of a thousand with one key may start at the same time.
type quota struct{ burst, rate, each float64 }

// allowances are the quotas of all kinds.
type allowances [lastKind + 2]quota

// toCoordinator are the quotas of what workers say to a coordinator. A kind without a row has the rate 0: it is not
// for a coordinator, and counts as unsound. Results and chunks have a low rate, as Expect adds those that were asked
// for.
var toCoordinator = allowances{
	unsound:       {burst: 256, rate: 16},
	KindHello:     {burst: 2048, rate: 64, each: 2},
	KindFetch:     {burst: 4096, rate: 128, each: 32},
	KindReady:     {burst: 4096, rate: 512, each: 32},
	KindNeed:      {burst: 1024, rate: 64, each: 16},
	KindResult:    {burst: 4096, rate: 64, each: 16},
	KindChunk:     {burst: 4096, rate: 64},
	KindHeartbeat: {burst: 8192, rate: 1024, each: 32},
	KindBye:       {burst: 2048, rate: 32, each: 1},
	KindSeek:      {burst: 4096, rate: 256, each: 2},
	KindShare:     {burst: 2048, rate: 64, each: 2},
	KindChunksAt:  {burst: 256, rate: 16},
	state:         {burst: 1024, rate: 8, each: 2},
}

// toPeers are the quotas of what workers say to a worker: those with one key, however many, pull what is theirs. What
// follows from a Pull is bounded where it is answered. In short steps they pull more than that: AtLeast lets in as many
// as are answered in a step.
var toPeers = allowances{
	unsound:   {burst: 256, rate: 16},
	KindPull:  {burst: 16384, rate: 4096},
	KindChunk: {burst: 4096, rate: 64},
	KindTheta: {burst: 4096, rate: 64},
}

// quotas are those of the ones who speak.
func (g *Gate) quotas() *allowances {
	if g != nil && g.peers {
		return &toPeers
	}
	return &toCoordinator
}

package coordinator

import (
	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// command is what the machine wants done; the shell executes commands in order. A command belongs to the shell once
// it is taken, with all that it points to, but for what its type says otherwise.
type command interface{ isCommand() }

type (
	// sendCommand sends a message to one worker, or to all if to is empty. The shell writes the header. A message with
	// a mark is only for the worker whose token has that mark: others under the same id drop it.
	sendCommand struct {
		to      string
		mark    uint64
		message wire.Message
	}
	// expectCommand lets chunks of a lease in. Their place belongs to the shell until closeCommand.
	expectCommand struct{ exchange.Expectation }
	// closeCommand lets no chunk of a lease in any more. What comes after it may use the memory of its values.
	closeCommand struct{ lease uint64 }
	// thetaCommand sends chunks of the current parameters.
	thetaCommand struct{ exchange.Theta }
	// relayCommand sends sections of the current parameters to those who hand them on.
	relayCommand struct{ exchange.Relay }
	// layCommand tells a worker where in shared memory the current parameters lie.
	layCommand struct{ to exchange.Recipient }
	// sharedCommand says whether the vectors of a worker go by shared memory from now on, and why not.
	sharedCommand struct {
		worker string
		on     bool
		why    string
	}
	// pieceCommand sends a piece of the data set to one worker.
	pieceCommand struct {
		to    string
		index int
	}
	// rejectCommand counts a refused message; the first of a worker and reason is logged.
	rejectCommand struct {
		worker string
		reason Reason
		detail string
	}
	// checkpointCommand writes a copy of the state.
	checkpointCommand struct {
		state *Checkpoint
		best  bool
	}
	// logCommand compares a step with the log, or appends it.
	logCommand struct{ entry Entry }
	// eventCommand appends an event to the log, with the time and the term.
	eventCommand struct{ event Event }
	// refereeCommand asks the referee for a block at the present parameters.
	refereeCommand struct{ trust.Question }
	// widenCommand says that a step is computed once more, as that many blocks of gradients did not fit their scales.
	widenCommand struct {
		step   uint64
		blocks int
	}
	// rollbackCommand goes back to the newest saved parameters of at most that many updates. It is the last command of
	// its event: the machine is suspended until rewind.
	rollbackCommand struct {
		step   uint64
		reason string
	}
	// exchangeCommand says why a gradient that workers sum is pulled by the coordinator.
	exchangeCommand struct{ why string }
	// chosenCommand says how gradients get here from now on, and why the run chose that.
	chosenCommand struct {
		mode Exchange
		why  string
	}
	// finishCommand ends the run.
	finishCommand struct{ err error }
)

// Reports are commands, too: the observer hears of them in the order of what was done.
func (sendCommand) isCommand()       {}
func (expectCommand) isCommand()     {}
func (closeCommand) isCommand()      {}
func (thetaCommand) isCommand()      {}
func (relayCommand) isCommand()      {}
func (layCommand) isCommand()        {}
func (sharedCommand) isCommand()     {}
func (pieceCommand) isCommand()      {}
func (rejectCommand) isCommand()     {}
func (checkpointCommand) isCommand() {}
func (logCommand) isCommand()        {}
func (eventCommand) isCommand()      {}
func (refereeCommand) isCommand()    {}
func (widenCommand) isCommand()      {}
func (rollbackCommand) isCommand()   {}
func (exchangeCommand) isCommand()   {}
func (chosenCommand) isCommand()     {}
func (finishCommand) isCommand()     {}
func (StepReport) isCommand()        {}
func (ValidationReport) isCommand()  {}
func (MembershipReport) isCommand()  {}

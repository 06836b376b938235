// Package wire is the protocol between the coordinator of a run and its workers, in one place: messages, subjects,
// version, codec, the cutting of vectors into chunks, and the Bus that carries them. It knows no model, no optimizer
// and no NATS. Package cluster has the Bus of real runs, InProcess carries vectors between the parties of one process,
// and Memory is the Bus of tests.
//
// A message is one msgpack array
//
//	[version, kind, run, from, term, token, fields..., seal]
//
// whose first four elements, seal, and the whole of a Refusal, never change between versions, so that programs of
// different versions can still say to each other what is wrong. The seal is the CRC32C of all bytes before it, except
// those of a chunk. A vector travels as msgpack bin of little-endian float32, cut into chunks, each with its CRC32C;
// the announcement of a vector carries the CRC32C of its chunks' CRC32Cs. If the Welcome says so, gradients travel as
// int16 or int8 instead, with what their blocks need behind them, and behind the parameters are the exponents in force:
// see package vector. If it says so, parameters travel as differences to those of the step before, for whoever has
// these; the values themselves follow on demand. A data set is an opaque byte string that travels likewise, and is
// named by its SHA-256. The term counts the incarnations of a run's coordinator: what belongs to an older term is
// refused.
//
// # Flow
//
//	worker                                    coordinator
//	                    <--- Introduce ---    to all, at start; to a stranger that speaks, or one ahead of the run
//	   --- Hello{slots, numerics} ---------->
//	                    <--- Welcome{job} -    or Refusal{reason, remedy}
//	   --- Fetch{missing} ------------------>  only if the run has a data set that the worker does not have
//	                    <--- Piece ... ------  within the coordinator's credit; a Fetch confirms what has arrived
//	   --- Ready{size, terms, golden} ------>  the program of the job is built
//	                    <--- Theta chunks --   parameters of the current step
//
//	                    <--- Theta chunks --   every step t opens: parameters to all, then
//	                    <--- Lease{block} --   an aligned block of shards to each free worker
//	                    <--- Stay{pass} -----  or that they are what they were, where the work is begun anew
//	                    <--- Relay{digests} -  or each section of the parameters to one worker,
//	   --- Theta chunks -------------------->  who hands it on to the others
//	                    <--- Offer{place} ---  with the Welcome, if there is memory for processes of one host
//	   --- Share{on} ----------------------->  each has read there what the other wrote. From then on
//	                    <--- ThetaAt{place} -  takes the place of Theta chunks,
//	   --- ChunksAt{place} ----------------->  and this of chunks that are pulled
//	   --- Need{chunks} -------------------->  only if chunks went missing, or what differences are to be added to
//	   --- Result{block, terms, checksum} -->  the block's partial sum is ready to be pulled
//	                    <--- Pull{chunks} --   within the coordinator's credit of bytes in flight
//	   --- Chunk ... ----------------------->
//	                    <--- Lease ---------   the next block, as soon as the Result is in
//	                    <--- Lease{audit} --   a block that another worker has announced: only its digest is wanted
//	   --- Result{block, terms, digest} ---->  nothing is pulled
//	                    <--- Lease{sections} -  the block stays here: its Result has digests of its sections
//	                    <--- Reduce{sources} -  sections to sum; they are pulled from other workers
//	   --- Pull, Chunk ---------------------->  between workers, each on the subject of the one that hears it
//	   --- Result{sections, checksum} ------>  the sum is ready to be pulled
//	   --- Heartbeat{step, progress} ------->  at the interval that Welcome names
//	   --- Bye ----------------------------->  hands the leases back
//	                    <--- Refusal -------   to a worker that is cut off: its bits are wrong, or its messages
//	                    <--- End{reason} ---   to all, at the end of the run
//
// What does not lie in shared memory as it is announced, for whatever reason, travels as chunks: the worker asks with a
// Need, the coordinator pulls again, and the two share no more. Programs that do not know these messages drop an Offer,
// and never hear the others. Those that do not know a Stay ask with a Need, as for what was lost.
//
// A worker of the pool, who serves whichever run has work, says Seek{slots} to the host of the runs, often while it has
// none and now and then while it serves one, and goes where an Assign{run} sends it, also away from the run that it
// serves. An Assign answers one Seek, the worker's newest: one that was delayed, or repeated, sends nobody anywhere.
//
// A step whose integers did not fit their scales, or that somebody spoilt, opens once more: a further pass of the step,
// which ends what was done in the one before.
//
// Several workers may hold leases of one block: a copy is given to an idle worker when the first takes too long, and
// the first sound Result counts. All that is said of a block must agree. Where it does not, the coordinator, or a
// worker that has said nothing of it, computes the block anew; who said otherwise is refused from then on. If what such
// a worker delivered before cannot be trusted, the run goes back to parameters that it had no part in: the coordinator
// raises its term and introduces itself, as if it had been started anew.
//
// Workers speak on subjects that end in the name of their key, and are addressed on subjects with that name, see By. At
// a broker with keys, each key may use its own only: who hears a message knows which key spoke, whatever the message
// says. So a worker is known by its Name, the id that it claims and the key that it has proved.
//
// A token binds a worker's messages to the one who said Hello: under the same id, another token is another worker. What
// the coordinator sends to one worker bears the mark of its token, so that another one under that id knows that it is
// not meant; a Refusal has it in the place of the term, and nobody else believes it. Ready shows that the worker has
// built the program of the run's job and that it computes the same bits: the run's golden shard.
//
// Any message may be lost, repeated, delayed or reordered. A lost Hello or Ready is repeated with the heartbeat; a lost
// Lease or Result shows when a heartbeat does not list the lease, and the Lease is sent again: a worker starts a lease
// that it does not know and announces again one that it has finished. A lost Pull or Chunk is pulled again after a time
// limit. A worker that waits for pieces says again what it lacks, and the coordinator sends a piece once more when
// nothing has arrived there for that time. A worker keeps its results until the parameters of a later step arrive.
package wire

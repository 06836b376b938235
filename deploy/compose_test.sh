#!/usr/bin/env bash
# A cluster of containers under faults, from docker-compose.yml as it is: eight workers
# train while two of them are killed, one is paused, the coordinator is killed and
# started again, and the broker is killed and started again. The parameters must be those
# of the same run in one process. What the containers know of each other's keys is looked
# at, too. It takes some minutes, and removes what it made but for the base images.
#
# GO_IMAGE and NATS_IMAGE name base images; without them deploy/offline/mkbase.sh makes
# some. SWITCHYARD_IMAGE names an image that is there, to test that one. STEPS sets the
# length of the run, which is otherwise chosen to last a minute, and LIMIT how many
# seconds everything may take.
set -euo pipefail
cd "$(dirname "$0")/.."
unset GOFLAGS SWITCHYARD_ISA

limit=${LIMIT:-1500}
image=${SWITCHYARD_IMAGE:-}
preset=fhn/smoke
config=(train.validate_every=500 train.checkpoint_every=200)
project=switchyard-test-$$
work=$(mktemp -d)

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
	say "FAILED: $*"
	exit 1
}

if ! docker info >/dev/null 2>&1; then
	echo "no Docker engine answers: image, compose file and the cluster under faults were NOT tested"
	rm -rf "$work"
	exit 0
fi
if docker compose version >/dev/null 2>&1; then
	compose() { docker compose -p "$project" "$@"; }
elif docker-compose version >/dev/null 2>&1; then
	compose() { docker-compose -p "$project" "$@"; }
else
	echo "there is a Docker engine and no Compose: compose file and the cluster under faults were NOT tested"
	rm -rf "$work"
	exit 0
fi

# Nobody's surroundings change what is tested.
unset "${!SWITCHYARD_@}" "${!COMPOSE_@}" SLOTS
export PRESET='' PAGE_PORT=0 WORKER_KEYS=8 SWITCHYARD_IMAGE=${image:-localhost/$project} VERSION=test BROKER_HOST=localhost

clean_up() {
	local status=$?
	trap - EXIT
	set +e
	if [ "$status" -ne 0 ]; then
		compose ps
		compose logs --no-color --tail 60
		[ -f "$work/submit.log" ] && tail -5 "$work/submit.log"
	fi
	kill "${watchdog:-}" "${submitted:-}" 2>/dev/null
	# A paused container cannot be stopped.
	compose ps -q | xargs -r docker unpause >/dev/null 2>&1
	compose --profile operator down -v --remove-orphans -t 5 >/dev/null 2>&1
	docker ps -aq --filter "label=com.docker.compose.project=$project" | xargs -r docker rm -fv >/dev/null 2>&1
	[ -n "$image" ] || docker image rm -f "$SWITCHYARD_IMAGE" >/dev/null 2>&1
	chmod -R u+w "$work"
	rm -rf "$work"
	exit "$status"
}
trap clean_up EXIT
trap 'fail "it took longer than $limit s"' TERM
main=$BASHPID
(trap 'kill "$!"' TERM; sleep "$limit" & wait "$!" && kill "$main") >/dev/null 2>&1 &
watchdog=$!

# readme LINE [OPTION...]: runs a command of the README, with options more.
readme() {
	local line=$1 words
	shift
	grep -qE "^$line( +#.*)?\$" README.md || fail "the README has no line: $line"
	read -ra words <<<"$line"
	compose "${words[2]}" "$@" "${words[@]:3}"
}

container() { compose ps -q "$1"; }

# file PATH: a file of the coordinator's container, whether that runs or not.
file() { docker cp "$coordinator:$1" - 2>/dev/null | tar -xO 2>/dev/null; }

# value KEY: a string or number of the run's run.json.
value() { file "/runs/$run/run.json" | sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p"; }

# await SECONDS WHAT COMMAND...: until the command succeeds.
await() {
	local until=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || fail "waited in vain: $what"
		sleep 0.5
	done
}

reached() {
	local step
	step=$(value step)
	[ "${step:-0}" -ge "$1" ]
}
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$1")" = healthy ]; }
over() { ! kill -0 "$submitted" 2>/dev/null; }
ended() { over || [ "$(value state)" != running ]; }
further() { reached "$1" || ended; }

# still WHAT: a fault that comes after the end tests nothing.
still() {
	if ended; then return 1; fi
	say "$1, at step $(value step)"
}

if [ -z "${GO_IMAGE:-}" ] || [ -z "${NATS_IMAGE:-}" ]; then
	say "base images"
	eval "$(deploy/offline/mkbase.sh 2>"$work/mkbase.log" || { cat "$work/mkbase.log" >&2; echo exit 1; })"
fi
if [ -z "$image" ]; then
	say "image"
	compose build init >"$work/build.log" 2>&1 || {
		tail -30 "$work/build.log"
		fail "the image does not build"
	}
fi
say "image: $(($(docker image inspect -f '{{.Size}}' "$SWITCHYARD_IMAGE") / 1000000)) MB"

say "up with 8 workers"
readme 'docker compose up --scale worker=8' -d --no-build >"$work/up.log" 2>&1 || {
	cat "$work/up.log"
	fail "it does not come up"
}
coordinator=$(container coordinator)
nats=$(container nats)
mapfile -t workers < <(container worker)
[ "${#workers[@]}" -eq 8 ] || fail "there are ${#workers[@]} workers"
await 60 "coordinator healthy" healthy "$coordinator"
await 60 "a worker healthy" healthy "${workers[0]}"
say "coordinator, broker and workers are healthy"
readme 'docker compose run --rm operator runs ls' -T >"$work/ls.log" 2>&1 || fail "runs ls: $(cat "$work/ls.log")"

# What a container that is broken into gives away.
secrets=$(docker cp "${workers[0]}:/keys" - | tar -t | grep -v '\.lock$' | sort | tr '\n' ' ')
want="keys/ keys/ca.pem $(printf 'keys/worker-%d.nk ' 1 2 3 4 5 6 7 8)"
[ "$secrets" = "$want" ] || fail "a worker has the keys: $secrets"
# There is a key for each, and none for a ninth, which says so.
compose run --rm -T --no-deps worker >"$work/ninth.log" 2>&1 && fail "a ninth worker runs with eight keys"
grep -q 'all keys of workers are taken: 8 in /keys' "$work/ninth.log" || fail "a ninth worker said: $(cat "$work/ninth.log")"
for c in "$coordinator" "${workers[0]}" "$nats"; do
	[ "$(docker inspect -f '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.PidsLimit}}' "$c")" = "65532:65532 true [ALL] 512" ] ||
		fail "a container is not hardened"
done
# In a file first: grep -q would close a pipe before all is written, which fails the writer.
compose logs --no-color coordinator >"$work/coordinator.log" 2>&1
grep -q 'http://127\.0\.0\.1:8080/' "$work/coordinator.log" || fail "the coordinator's log has no address that a browser opens"
port=$(docker port "$coordinator" 8080/tcp)
case $port in
127.0.0.1:*) ;;
*) fail "the page is published at $port" ;;
esac

# submit NAME STEPS: in the background, until the run has ended.
submit() {
	run=$1
	steps=$2
	compose run --rm -T operator submit "$preset" train.steps="$steps" "${config[@]}" --name "$run" --wait >"$work/submit.log" 2>&1 &
	submitted=$!
}

# faults: all of them, one after the other. It ends early, with status 1, if the run does.
faults() {
	await 90 "the first steps" reached $((steps / 20))
	still "kill two workers" || return 1
	docker kill -s KILL "${workers[0]}" "${workers[1]}" >/dev/null
	still "pause a worker for 8 s, longer than failure detection" || return 1
	docker pause "${workers[2]}" >/dev/null
	sleep 8
	docker unpause "${workers[2]}" >/dev/null
	still "start the two workers again" || return 1
	docker start "${workers[0]}" "${workers[1]}" >/dev/null
	still "kill the coordinator, start it 2 s later" || return 1
	docker kill -s KILL "$coordinator" >/dev/null
	sleep 2
	back "$coordinator"
	still "kill the broker, start it 2 s later" || return 1
	docker kill -s KILL "$nats" >/dev/null
	sleep 2
	back "$nats"
	still "stop a worker" || return 1
	docker stop -t 20 "${workers[3]}" >/dev/null
	[ "$(docker inspect -f '{{.State.ExitCode}}' "${workers[3]}")" = 0 ] || fail "a worker that was stopped did not end well"
	still "no more faults" || return 1
}

# back CONTAINER: starts it and waits until steps are made again, unless the run has ended.
back() {
	local before began=$SECONDS
	before=$(value step)
	docker start "$1" >/dev/null
	await 90 "steps after the restart" further $((before + 1))
	if reached $((before + 1)); then
		say "steps are made again, $((SECONDS - began)) s after the start as run.json has it, which is written every 5 s"
	fi
}

if [ -z "${STEPS:-}" ]; then
	submit measure 500
	await 120 "the end of a first run" over
	wait "$submitted" || fail "submit --wait: $(tail -3 "$work/submit.log")"
	# The last row of the metrics, [key,step,milliseconds,...], says how long the run had taken.
	took=$(file /runs/measure/metrics.jsonl | tail -1 | sed -n 's/^\[[0-9]*,[0-9]*,\([0-9]*\)[0-9][0-9][0-9],.*/\1/p')
	STEPS=$((500 * 55 / (took + 1)))
	say "500 steps take $took s: the run under faults has $STEPS"
fi
# On a machine that was busy before, the first run says little: steps may take a quarter of that time now.
try=1
submit faults-1 "$STEPS"
until faults; do
	[ "$try" -lt 4 ] || fail "the run was over before the last fault; give it more STEPS"
	say "the run was over before the last fault: again, with twice the steps"
	try=$((try + 1)) STEPS=$((2 * STEPS))
	docker start "${workers[@]}" >/dev/null
	submit "faults-$try" "$STEPS"
done
await 300 "the end of the run" over
wait "$submitted" || fail "submit --wait: $(tail -3 "$work/submit.log")"
say "$(tail -1 "$work/submit.log")"
[ "$(value state)" = finished ] || fail "the run is $(value state)"
got=$(value params_sha256)

say "the same run in one process"
go build -buildvcs=false -o "$work/switchyard" ./cmd/switchyard
"$work/switchyard" train "$preset" train.steps="$steps" "${config[@]}" --name same --quiet --runs-dir "$work/runs" >"$work/train.log" ||
	fail "train: $(cat "$work/train.log")"
want=$(sed -n 's/^  "params_sha256": "\(.*\)",*/\1/p' "$work/runs/same/run.json")
[ "$got" = "$want" ] || fail "params_sha256 $got in containers, $want in one process"

compose logs --no-color >"$work/all.log" 2>&1
docker inspect $(compose ps -aq 2>/dev/null || compose ps -q) >>"$work/all.log"
token=$(file /keys/page.token)
if grep -Eq '\bS[UA][A-Z2-7]{56}\b' "$work/all.log" || grep -qF -e "$token" "$work/all.log"; then
	fail "a log or a command line holds a secret"
fi
used=$(grep -o 'worker joined.*worker=[^ ]*@U[A-Z0-9]*' "$work/all.log" | grep -o '@U[A-Z0-9]*' | sort -u | wc -l)
[ "$used" -ge 8 ] || fail "eight workers have used $used keys"
sharing=$(grep -o 'use shared memory: run=[^ ]* worker=[^ ]*' "$work/all.log" | grep -o 'worker=.*' | sort -u | wc -l)
[ "$sharing" -ge 8 ] || fail "of eight workers beside the coordinator $sharing have shared memory with it"
say "stop all"
docker stop -t 60 "$coordinator" >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$coordinator")" = 0 ] || fail "the coordinator did not end well"
say "the same bits as in one process"

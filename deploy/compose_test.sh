#!/usr/bin/env bash
# A cluster of containers under faults, from docker-compose.yml as it is: eight workers
# train while two of them are killed, one is paused, the coordinator is killed and
# started again, and the broker is killed and started again. The parameters must be those
# of the same run in one process. What the containers know of each other's keys is looked
# at, too. It takes some minutes, and removes what it made but for the base images.
#
# GO_IMAGE and NATS_IMAGE name base images; without them deploy/offline/mkbase.sh makes
# some. STEPS sets the length of the run, which is otherwise chosen to last a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
unset GOFLAGS SWITCHYARD_ISA

limit=${LIMIT:-480} # seconds for everything
run=faults
preset=fhn/smoke
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
export PRESET='' PAGE_PORT=0 SWITCHYARD_IMAGE=localhost/$project VERSION=test BROKER_HOST=localhost

clean_up() {
	local status=$?
	trap - EXIT
	set +e
	if [ "$status" -ne 0 ]; then
		compose ps
		compose logs --no-color --tail 60
		[ -f "$work/submit.log" ] && tail -5 "$work/submit.log"
	fi
	kill "${watchdog:-}" "${submit:-}" 2>/dev/null
	# A paused container cannot be stopped.
	compose ps -q | xargs -r docker unpause >/dev/null 2>&1
	compose --profile operator down -v --remove-orphans -t 5 >/dev/null 2>&1
	docker ps -aq --filter "label=com.docker.compose.project=$project" | xargs -r docker rm -fv >/dev/null 2>&1
	docker image rm -f "$SWITCHYARD_IMAGE" >/dev/null 2>&1
	chmod -R u+w "$work"
	rm -rf "$work"
	exit "$status"
}
trap clean_up EXIT
trap 'fail "it took longer than $limit s"' TERM
main=$BASHPID
(sleep "$limit" && kill "$main") &
watchdog=$!

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
over() { ! kill -0 "$submit" 2>/dev/null; }

# still WHAT: a fault that comes after the end tests nothing.
still() {
	over && fail "the run was over before this fault: $1. Give it more STEPS"
	say "$1, at step $(value step)"
}

if [ -z "${GO_IMAGE:-}" ] || [ -z "${NATS_IMAGE:-}" ]; then
	say "base images"
	eval "$(deploy/offline/mkbase.sh 2>"$work/mkbase.log" || { cat "$work/mkbase.log" >&2; echo exit 1; })"
fi
say "image"
compose build init >"$work/build.log" 2>&1 || {
	tail -30 "$work/build.log"
	fail "the image does not build"
}
say "image: $(($(docker image inspect -f '{{.Size}}' "$SWITCHYARD_IMAGE") / 1000000)) MB"

say "the same run in one process"
CGO_ENABLED=0 go build -buildvcs=false -o "$work/switchyard" ./cmd/switchyard
train() { "$work/switchyard" train "$preset" "$@" --quiet --runs-dir "$work/runs" >"$work/train.log" || fail "train: $(cat "$work/train.log")"; }
config=(train.validate_every=500 train.checkpoint_every=200)
if [ -z "${STEPS:-}" ]; then
	began=$(date +%s%N)
	train train.steps=400 "${config[@]}" --name measure
	# 400 steps took so many milliseconds; the run is to take 20 s here, and is slower in containers.
	took=$((($(date +%s%N) - began) / 1000000 + 1))
	STEPS=$((400 * 20000 / took / 1000 * 1000))
	STEPS=$((STEPS < 2000 ? 2000 : STEPS > 20000 ? 20000 : STEPS))
fi
config+=(train.steps="$STEPS")
train "${config[@]}" --name "$run"
want=$(sed -n 's/^  "params_sha256": "\(.*\)",*/\1/p' "$work/runs/$run/run.json")
say "$STEPS steps, params_sha256 $want"

say "up with 8 workers"
compose up -d --no-build --scale worker=8 >"$work/up.log" 2>&1 || {
	cat "$work/up.log"
	fail "it does not come up"
}
coordinator=$(container coordinator)
nats=$(container nats)
mapfile -t workers < <(container worker)
[ "${#workers[@]}" -eq 8 ] || fail "there are ${#workers[@]} workers"
await 60 "coordinator healthy" healthy "$coordinator"
say "coordinator and broker are healthy"

# What a container that is broken into gives away.
secrets=$(docker cp "${workers[0]}:/keys" - | tar -t | sort | tr '\n' ' ')
[ "$secrets" = "keys/ keys/ca.pem keys/worker.nk " ] || fail "a worker has the keys: $secrets"
for c in "$coordinator" "${workers[0]}" "$nats"; do
	[ "$(docker inspect -f '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}' "$c")" = "65532:65532 true [ALL]" ] ||
		fail "a container is not hardened"
done
port=$(docker port "$coordinator" 8080/tcp)
case $port in
127.0.0.1:*) ;;
*) fail "the page is published at $port" ;;
esac

compose run --rm -T operator submit "$preset" "${config[@]}" --name "$run" --wait >"$work/submit.log" 2>&1 &
submit=$!
await 90 "the first steps" reached $((STEPS / 20))

still "kill two workers"
docker kill -s KILL "${workers[0]}" "${workers[1]}" >/dev/null
still "pause a worker for 8 s, longer than failure detection"
docker pause "${workers[2]}" >/dev/null
sleep 8
docker unpause "${workers[2]}" >/dev/null
still "start the two workers again"
docker start "${workers[0]}" "${workers[1]}" >/dev/null
still "kill the coordinator, and start it 2 s later"
docker kill -s KILL "$coordinator" >/dev/null
sleep 2
docker start "$coordinator" >/dev/null
before=$(value step)
await 60 "steps after the coordinator's restart" reached $((before + 1))
still "kill the broker, and start it 2 s later"
docker kill -s KILL "$nats" >/dev/null
sleep 2
docker start "$nats" >/dev/null
before=$(value step)
await 60 "steps after the broker's restart" reached $((before + 1))
still "stop a worker"
docker stop -t 20 "${workers[3]}" >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "${workers[3]}")" = 0 ] || fail "a worker that was stopped did not end well"

await 240 "the end of the run" over
wait "$submit" || fail "submit --wait: $(tail -3 "$work/submit.log")"
got=$(value params_sha256)
say "$(tail -1 "$work/submit.log")"
[ "$(value state)" = finished ] || fail "the run is $(value state)"
[ "$got" = "$want" ] || fail "params_sha256 $got in containers, $want in one process"

compose logs --no-color >"$work/all.log" 2>&1
docker inspect $(compose ps -aq 2>/dev/null || compose ps -q) >>"$work/all.log"
token=$(file /keys/page.token)
if grep -Eq '\bS[UA][A-Z2-7]{56}\b' "$work/all.log" || grep -qF "$token" "$work/all.log"; then
	fail "a log or a command line holds a secret"
fi
say "stop all"
docker stop -t 60 "$coordinator" >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$coordinator")" = 0 ] || fail "the coordinator did not end well"
say "the same bits as in one process"

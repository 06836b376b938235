#!/usr/bin/env bash
# Measures in one session what the project promises about speed, and writes it down: the
# training step in both switchings, by turns with a PyTorch peer on the same cores; small
# steps; the kernels; what messages add to a step; and where the time of a maze step goes.
# Let nothing else run meanwhile. It takes about ten minutes.
#
#	docs/bench/run.sh [--quick] [PEER]
#
# PEER is the peer's script, which takes --preset, --switching, --threads, --steps and
# --batch and prints step_s_median=, min= and max=; without one nothing is compared. The
# report goes to docs/bench/YYYY-MM-DD.md, what was measured to the .json beside it.
# --quick measures each thing once, Concrete switching only, in less than three minutes;
# it prints its report and keeps nothing.
#
# PYTHON runs the peer, THREADS is how many cores are used, OUT is the folder of the report.
set -euo pipefail
shopt -s inherit_errexit

quick=false
peer=${PEER:-}
for argument in "$@"; do
	case $argument in
	--quick) quick=true ;;
	-*)
		echo "unknown flag $argument: see the head of $0" >&2
		exit 2
		;;
	*) peer=$argument ;;
	esac
done
if [ -n "$peer" ]; then
	[ -r "$peer" ] || { echo "the peer's script $peer cannot be read" >&2; exit 2; }
	peer=$(realpath "$peer")
fi
cd "$(dirname "$0")/../.."
unset GOFLAGS SWITCHYARD_ISA "${!SWITCHYARD_@}"

python=${PYTHON:-/usr/bin/python3}
threads=${THREADS:-2}
out=$(realpath "${OUT:-docs/bench}")
rounds=3 steps=5 seconds=1 samples=5 turns=4 profiled=10
switchings=(concrete normal)
if $quick; then
	rounds=1 steps=2 seconds=0 samples=1 turns=1 profiled=2
	switchings=(concrete)
fi
day=$(date +%F)
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
records=$work/records

say() { printf '%4d s  %s\n' "$SECONDS" "$*" >&2; }

# record KIND FIELDS: keeps an object with the given fields, JSON without its braces.
record() { printf '{"kind":"%s",%s}\n' "$1" "$2" | tr -d '\n' >>"$records" && echo >>"$records"; }

# ours ROUND PRESET [key=value]...: this program, with the present switching.
ours() {
	local round=$1 result
	set -- "$2" "model.switching=$switching" "${@:3}"
	result=$("$work/switchyard" bench step "$@" --threads "$threads" --steps "$steps" --seconds "$seconds" --json)
	record step "\"round\":$round,\"step\":$result"
	record command "\"command\":\"switchyard bench step $* --threads $threads --steps $steps --seconds $seconds\""
}

# torch THREADS CORETYPE FLAG...: one process of the peer; prints its seconds per step.
torch() {
	local cores=$1 coretype=$2
	shift 2
	OPENBLAS_NUM_THREADS=$cores OPENBLAS_CORETYPE=$coretype OMP_WAIT_POLICY=PASSIVE \
		"$python" "$peer" "$@" --threads "$cores" --steps "$steps" |
		sed -nE 's/.*step_s_median=([0-9.]+) min=([0-9.]+) max=([0-9.]+).*/{"median":\1,"min":\2,"max":\3}/p'
}

# together PRESET: the peer on all cores in one process.
together() { torch "$threads" "$coretype" --preset "$1" --switching "$switching"; }

# apart PRESET BATCH: the peer as one process of one thread for each core, at once, with its
# part of the batch; the slower counts.
apart() {
	local i pids=()
	for ((i = 0; i < threads; i++)); do
		torch 1 "$coretype" --preset "$1" --switching "$switching" --batch $(($2 / threads)) >"$work/part-$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	sort -t : -k 2 -g "$work"/part-* | tail -n 1
}

# theirs SETTING ROUND PRESET NAME BATCH: the peer in one setting, with the present
# switching: with both core types in the first round, then with the faster.
theirs() {
	local setting=$1 round=$2 preset=$3 name=$4 batch=$5 coretype coretypes=(Haswell SkylakeX) result command
	if [ "$round" != 1 ] || [ "$switching" != concrete ]; then
		coretypes=("$(faster "$preset" "$setting")")
	fi
	for coretype in "${coretypes[@]}"; do
		command="OPENBLAS_CORETYPE=$coretype OMP_WAIT_POLICY=PASSIVE python3 ${peer##*/} --preset $name --switching $switching --steps $steps"
		if [ "$setting" = threads ]; then
			result=$(together "$name")
			command="OPENBLAS_NUM_THREADS=$threads $command --threads $threads"
		else
			result=$(apart "$name" "$batch")
			command="OPENBLAS_NUM_THREADS=1 $command --threads 1 --batch $((batch / threads))  # $threads at once"
		fi
		[ -n "$result" ] || { echo "the peer printed no times: $command" >&2; exit 1; }
		record peer "\"round\":$round,\"preset\":\"$preset\",\"switching\":\"$switching\",\"coretype\":\"$coretype\",\"setting\":\"$setting\",\"step_seconds\":$result"
		record command "\"command\":\"$command\""
	done
}

# faster PRESET SETTING: the core type with which the peer was faster in the first round.
faster() {
	sed -nE "s|.*\"kind\":\"peer\".*\"preset\":\"$1\".*\"coretype\":\"([^\"]*)\",\"setting\":\"$2\".*\"min\":([0-9.]+).*|\2 \1|p" "$records" |
		sort -g | head -n 1 | cut -d ' ' -f 2
}

# compare ROUND PRESET NAME BATCH [key=value]...
compare() {
	local round=$1 preset=$2 name=$3 batch=$4 switching
	shift 4
	for switching in "${switchings[@]}"; do
		say "round $round: $preset, $switching"
		ours "$round" "$preset" "$@"
		[ -n "$peer" ] || continue
		theirs threads "$round" "$preset" "$name" "$batch"
		theirs processes "$round" "$preset" "$name" "$batch"
	done
}

# small ROUND: presets whose steps take milliseconds, on one core, with the switch that each has.
small() {
	local preset command result
	for preset in maze maze/bodies maze/quick reacher reacher/quick; do
		say "round $1: $preset, one core"
		command="bench step $preset --threads 1 --steps $steps --seconds $seconds"
		result=$("$work/switchyard" $command --json)
		record small "\"round\":$1,\"step\":$result"
		record command "\"command\":\"switchyard $command\""
	done
}

messages() {
	local n
	for ((n = 1; n <= threads; n++)); do
		record wire "\"wire\":$("$work/switchyard" bench wire maze/faithful --threads "$n" --steps "$steps" --turns "$turns" --json)"
		record command "\"command\":\"switchyard bench wire maze/faithful --threads $n --steps $steps --turns $turns\""
	done
}

# profile keeps the time of each function of a maze step.
profile() {
	local command="bench step maze/faithful --threads $threads --seconds $profiled --cpuprofile"
	"$work/switchyard" bench step maze/faithful --threads "$threads" --seconds "$profiled" --json --cpuprofile "$work/maze.prof" >/dev/null
	record command "\"command\":\"switchyard $command maze.prof\""
	record command '"command":"go tool pprof -top -nodefraction=0 -nodecount=1000 maze.prof"'
	go tool pprof -top -unit=ms -nodefraction=0 -nodecount=1000 "$work/switchyard" "$work/maze.prof" 2>/dev/null |
		sed -nE 's/^ *([0-9.]+)(ms)? +([0-9.]+)% +[0-9.]+% +[0-9.]+(ms)? +[0-9.]+% +(.*[^ ]) *$/\1 \3 \5/p' |
		while read -r milliseconds share function; do
			[ "$share" = 0 ] && continue
			record profile "\"milliseconds\":$milliseconds,\"share\":$share,\"function\":\"$function\""
		done
}

say "build"
go build -o "$work/switchyard" ./cmd/switchyard
model=$(lscpu | sed -nE 's/^Model name: +//p' | head -n 1)
version=""
[ -z "$peer" ] || version=$("$python" -c 'import torch; print(torch.__version__)')
record machine "\"day\":\"$day\",\"cpu\":\"$model\",\"cores\":$(nproc),\"kernel\":\"$(uname -sr)\",\"go\":\"$(go env GOVERSION)\",\"torch\":\"$version\",\"load\":\"$load\",\"commit\":\"$(git rev-parse --short HEAD)\",\"threads\":$threads,\"quick\":$quick"

for ((round = 1; round <= rounds; round++)); do
	compare "$round" maze/faithful maze 256
	compare "$round" reacher/faithful reacher 128
	compare "$round" ball/faithful box 256
	compare "$round" fhn/faithful fhn 32
	small "$round"
done
say "messages"
messages
say "profile"
profile
say "kernels"
record kernels "\"kernels\":$("$work/switchyard" bench kernels --samples "$samples" --json)"
record command "\"command\":\"switchyard bench kernels --samples $samples\""
record end "\"seconds\":$SECONDS,\"load\":\"$(cut -d ' ' -f 1-3 /proc/loadavg)\""

{ echo '['; sed '$!s/$/,/' "$records"; echo ']'; } >"$work/$day.json"
"$work/switchyard" bench report "$work/$day.json" >"$work/$day.md"
if $quick; then
	cat "$work/$day.md"
else
	mkdir -p "$out"
	cp "$work/$day.json" "$work/$day.md" "$out/"
	say "wrote $out/$day.md and $out/$day.json"
fi

#!/usr/bin/env bash
# Checks the model of docs/scaling.md against measurement, and prints what was measured
# beside what was predicted, in Markdown: steps of n workers on this machine, and steps over
# slow links between network namespaces of this machine. Let nothing else run meanwhile.
#
#	docs/bench/scaling.sh [PRESET...]       default: maze/faithful fhn/faithful
#
# A PRESET may have settings behind it, in one argument: 'maze/faithful train.batch=8'.
# WORKERS ("1 2 4 8"; "" for none) run on this machine; LINKS ("100Mbit/s 1Gbit/s") are tried
# with LINK_WORKERS ("1 2"), of one core each, and STEPS (24) steps, by each of EXCHANGES
# ("star"; "sharded" has a server in each worker). Links need root, ip and tc; without them
# that part is left out. TURNS (6) is how often steps with and without messages take turns
# here. JSON names a file for the records, from which the table can be made again.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
unset GOFLAGS "${!SWITCHYARD_@}"

if [ "$#" -gt 0 ]; then presets=("$@"); else presets=(maze/faithful fhn/faithful); fi
read -ra workers <<<"${WORKERS-1 2 4 8}"
read -ra links <<<"${LINKS:-100Mbit/s 1Gbit/s}"
read -ra link_workers <<<"${LINK_WORKERS:-1 2}"
read -ra exchanges <<<"${EXCHANGES:-star}"
steps=${STEPS:-24}
turns=${TURNS:-6}
json=${JSON:-}
work=$(mktemp -d)
records=$work/records
prefix=sy$$
pids=()

say() { printf '%4d s  %s\n' "$SECONDS" "$*" >&2; }
record() { printf '{"kind":"%s",%s}\n' "$1" "$2" | tr -d '\n' >>"$records" && echo >>"$records"; }

stop() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	pids=()
}

# rows turns the steps of a table of metrics into records: all but the first, which come before all workers are there and
# before the pace is known.
rows() {
	awk -F, -v last="$steps" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["split"] == "train" && NR > 4 && NR <= last {
			printf "{\"values\":{"
			separator = ""
			for (name in column) if (name ~ /_seconds$/ || name == "workers") { printf "%s\"%s\":%s", separator, name, $column[name]; separator = "," }
			print "}}"
		}' "$1"
}

lower() {
	local name
	for name in $(ip netns list 2>/dev/null | sed -nE "s/^($prefix-[a-z0-9]+).*/\1/p"); do ip netns del "$name"; done
}

trap 'stop; lower; rm -rf "$work"' EXIT

# lacking says why links cannot be tried; nothing if they can.
lacking() {
	[ "$(id -u)" = 0 ] || { echo "root is needed"; return; }
	command -v ip tc >/dev/null || { echo "ip and tc are needed"; return; }
	ip netns add "$prefix-try" 2>/dev/null || { echo "there are no network namespaces"; return; }
	ip netns del "$prefix-try"
}

# machine NAME ADDRESS RATE BURST: a namespace with a link to the switch, which carries RATE kbit/s
# of payload each way. The bucket is small beside the messages of a step.
machine() {
	local name=$1 address=$2 rate=$3 burst=$4
	ip netns add "$prefix-$name"
	ip link add "$name-a" netns "$prefix-$name" type veth peer name "$name-b" netns "$prefix-switch"
	ip -n "$prefix-$name" address add "$address/24" dev "$name-a"
	ip -n "$prefix-$name" link set "$name-a" up
	ip -n "$prefix-$name" link set lo up
	ip -n "$prefix-switch" link set "$name-b" master bridge up
	tc -n "$prefix-$name" qdisc add dev "$name-a" root tbf rate "${rate}kbit" burst "$burst" latency 400ms
	tc -n "$prefix-switch" qdisc add dev "$name-b" root tbf rate "${rate}kbit" burst "$burst" latency 400ms
}

# kilobits LINK: 94 % of the speed, which is what a real link has for payload: the segments
# between namespaces are large and have next to no headers.
kilobits() {
	case $1 in
	*Gbit/s) awk "BEGIN { print int(${1%Gbit/s} * 940000) }" ;;
	*Mbit/s) awk "BEGIN { print int(${1%Mbit/s} * 940) }" ;;
	esac
}

# within NAME COMMAND...: in the background, so that $! is the command itself and not a shell around it.
within() {
	local name=$1
	shift
	exec ip netns exec "$prefix-$name" "$@"
}

# overLink PRESET LINK EXCHANGE N: a run of N workers, each at the end of a link. Memory, which namespaces do share, is not
# used.
overLink() {
	local preset=$1 link=$2 exchange=$3 n=$4 rate burst i url=nats://10.77.0.1:4222 metrics
	local words broker_cluster=() worker_cluster=()
	rate=$(kilobits "$link")
	burst=$((rate > 500000 ? 524288 : 131072))
	ip netns add "$prefix-switch"
	ip -n "$prefix-switch" link add bridge type bridge
	ip -n "$prefix-switch" link set bridge up
	machine lead 10.77.0.1 "$rate" "$burst"
	for ((i = 1; i <= n; i++)); do machine "w$i" "10.77.0.$((10 + i))" "$rate" "$burst"; done
	read -ra words <<<"$preset"
	"$work/switchyard" config show "${words[@]}" train.steps=1000000 train.validate_every=0 train.checkpoint_every=0 cluster.exchange="$exchange" >"$work/run.yaml"
	rm -rf "$work/runs"
	[ "$exchange" = star ] || broker_cluster=(--cluster 10.77.0.1:6222)
	within lead "$work/switchyard" broker --listen 10.77.0.1:4222 "${broker_cluster[@]}" --quiet 2>"$work/broker.log" &
	pids+=($!)
	within lead "$work/switchyard" coordinator --nats "$url" --config "$work/run.yaml" --name link --runs-dir "$work/runs" --shared-memory off 2>"$work/coordinator.log" &
	pids+=($!)
	for ((i = 1; i <= n; i++)); do
		[ "$exchange" = star ] || worker_cluster=(--cluster "10.77.0.$((10 + i)):6222" --cluster-seed 10.77.0.1:6222)
		within "w$i" "$work/switchyard" worker --nats "$url" "${worker_cluster[@]}" --id "w$i" --slots 1 --shared-memory off 2>"$work/worker-$i.log" &
		pids+=($!)
	done
	metrics=$work/runs/link/metrics.jsonl
	for ((i = 0; i < 1200; i++)); do
		[ "$(wc -l 2>/dev/null <"$metrics" || echo 0)" -lt "$steps" ] || break
		sleep 0.5
	done
	stop
	lower
	grep -h 'messages take' "$work/coordinator.log" >&2 || true
	"$work/switchyard" runs export link --runs-dir "$work/runs" --out "$work/link.csv" >&2
	record link "\"preset\":\"$preset\",\"link\":\"$link\",\"exchange\":\"$exchange\",\"workers\":$n,\"steps\":[$(rows "$work/link.csv" | paste -sd ,)]"
}

say build
go build -o "$work/switchyard" ./cmd/switchyard
touch "$records"
reason=$(lacking)
[ -z "$reason" ] || say "links are left out: $reason"
constants=$work/constants.json
for preset in "${presets[@]}"; do
	read -ra words <<<"$preset"
	say "$preset: constants"
	"$work/switchyard" bench scale "${words[@]}" --json >"$constants"
	if [ "${#workers[@]}" -gt 0 ]; then
		list=$(IFS=,; echo "${workers[*]}")
		record scale "\"preset\":\"$preset\",\"scale\":$("$work/switchyard" bench scale "${words[@]}" --one-machine --workers "$list" --measured "$constants" --json)"
	fi
	for n in "${workers[@]}"; do
		say "$preset: $n workers"
		record wire "\"preset\":\"$preset\",\"wire\":$("$work/switchyard" bench wire "${words[@]}" --carrier broker --threads "$n" --steps 5 --turns "$turns" --json)"
	done
	[ -z "$reason" ] || continue
	list=$(IFS=,; echo "${link_workers[*]}")
	for link in "${links[@]}"; do
		for exchange in "${exchanges[@]}"; do
			servers=()
			[ "$exchange" = star ] || servers=(--servers)
			record scale "\"preset\":\"$preset\",\"link\":\"$link\",\"exchange\":\"$exchange\",\"scale\":$("$work/switchyard" bench scale "${words[@]}" cluster.exchange="$exchange" "${servers[@]}" --link "$link" --latency 0s --workers "$list" --measured "$constants" --json)"
			for n in "${link_workers[@]}"; do
				say "$preset: $n workers at $link, $exchange"
				overLink "$preset" "$link" "$exchange" "$n"
			done
		done
	done
done
{ echo '['; sed '$!s/$/,/' "$records"; echo ']'; } >"$work/records.json"
[ -z "$json" ] || cp "$work/records.json" "$json"
"$work/switchyard" bench report "$work/records.json"

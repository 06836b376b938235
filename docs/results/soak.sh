#!/usr/bin/env bash
# A soak: a broker and a coordinator on one host and workers on 16 others (network namespaces, links of RATE), with a served
# model under load beside them. Three minutes without faults and seven with them take turns in the same run, so that its
# steps per second can be compared. Faults: workers are killed, leave, are paused and cut off; coordinator and broker are
# killed; the disk of the runs is filled. At the end the whole run is recomputed in one process and its bits are compared.
# Needs root, ip, tc and curl. SWITCHYARD is the program, MINUTES how long it takes, CLIENTS how many ask the model, SEED
# the order of the faults.
set -euo pipefail
program=${SWITCHYARD:-switchyard} minutes=${MINUTES:-60} clients=${CLIENTS:-4} rate=${RATE:-5mbit} hosts=16
RANDOM=${SEED:-1}
home=10.77.0.254 url=nats://10.77.0.254:4222
dir=$(mktemp -d)
declare -A pid faults

clean() {
  rm -f "$dir/serving"
  kill -9 "${pid[@]}" 2>/dev/null || true
  for ((i = 1; i <= hosts; i++)); do ip netns del "soak$i" 2>/dev/null || true; done
  ip link del soak 2>/dev/null || true
  umount "$dir/runs" 2>/dev/null || true
  if [ -n "${KEEP:-}" ]; then echo "kept: $dir"; else rm -rf "$dir"; fi
}
trap clean EXIT
mkdir "$dir/runs" "$dir/logs"
mount -t tmpfs -o size=512m tmpfs "$dir/runs"
cd "$dir"

network() {
  ip link add soak type bridge
  ip addr add "$home/24" dev soak
  ip link set soak up
  for ((i = 1; i <= hosts; i++)); do
    ip netns add "soak$i"
    ip link add "soak$i" type veth peer name eth0 netns "soak$i"
    ip link set "soak$i" master soak up
    ip netns exec "soak$i" ip addr add "10.77.0.$i/24" dev eth0
    ip netns exec "soak$i" ip link set eth0 up
    tc qdisc add dev "soak$i" root tbf rate "$rate" burst 32kb latency 400ms
    ip netns exec "soak$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 32kb latency 400ms
  done
}

start() { # start NAME COMMAND...
  local name=$1
  shift
  "$@" >> "logs/$name" 2>&1 &
  pid[$name]=$!
  disown
}
start_broker() { start broker "$program" broker --listen "$home:4222" --quiet; }
start_coordinator() {
  start coordinator "$program" coordinator --nats "$url" --web none --shared-memory off --tensorboard=false --quiet
}
start_worker() {
  start "worker$1" ip netns exec "soak$1" "$program" worker --nats "$url" --id "host$1" --slots 1 --shared-memory off --quiet
}
start_server() { start server "$program" serve --model m --web "127.0.0.1:$port" --quiet; }

ask() { # ask CLIENT: without pause, while the model is served
  while [ -e serving ]; do
    curl -s -m 10 -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/json' \
      -d "{\"client\":\"c$1\",\"observations\":[[0.1,0.1]]}" "http://127.0.0.1:$port/v1/filter" >> "answers$1" || true
  done
}

step() { sed -n 's/^ *"step": \([0-9]*\).*/\1/p' runs/soak/run.json | head -1; }
sample() { # sample NAME: resident KiB and open files
  echo "$(awk '/VmRSS/{print $2}' "/proc/${pid[$1]}/status") KiB $(ls "/proc/${pid[$1]}/fd" | wc -l) files"
}

# Worker 1 is never killed, so that leaks show.
fault() {
  local i=$((2 + RANDOM % (hosts - 1))) draw=$((RANDOM % 100)) kind
  if ((draw < 35)); then
    kind=kill
    kill -9 "${pid[worker$i]}"
    sleep $((1 + RANDOM % 3))
    start_worker "$i"
  elif ((draw < 60)); then
    kind=leave_and_join
    kill -TERM "${pid[worker$i]}"
    sleep $((1 + RANDOM % 5))
    start_worker "$i"
  elif ((draw < 70)); then
    kind=pause
    kill -STOP "${pid[worker$i]}"
    sleep 4
    kill -CONT "${pid[worker$i]}"
  elif ((draw < 82)); then
    kind=cut_off
    ip link set "soak$i" down
    sleep $((2 + RANDOM % 6))
    ip link set "soak$i" up
  elif ((draw < 88)); then
    kind=coordinator
    kill -9 "${pid[coordinator]}"
    sleep 1
    start_coordinator
  elif ((draw < 94)); then
    kind=broker
    kill -9 "${pid[broker]}"
    sleep 1
    start_broker
  else
    kind=disk_full
    dd if=/dev/zero of=runs/filler bs=1M 2>/dev/null || true
    sleep 3
    rm -f runs/filler
  fi
  faults[$kind]=$((${faults[$kind]:-0} + 1))
}

phase() { # phase NAME SECONDS: prints what was made of it
  local from end=$((SECONDS + $2)) begun=$SECONDS
  from=$(step)
  while ((SECONDS < end)); do
    if [ "$1" = faults ]; then fault; fi
    sleep $((2 + RANDOM % 4))
  done
  sleep 6 # run.json is written every 5 s
  printf '%4d s  %-6s %6.1f steps/s  worker1 %s  server %s  coordinator %s  broker %s\n' "$SECONDS" "$1" \
    "$(bc -l <<< "($(step) - $from) / ($SECONDS - $begun)")" \
    "$(sample worker1)" "$(sample server)" "$(sample coordinator)" "$(sample broker)"
}

network
port=$((20000 + RANDOM % 20000))
"$program" train fhn/smoke --name m --web none --quiet > /dev/null 2>&1
start_broker
start_server
sleep 2
start_coordinator
sleep 2
"$program" submit fhn/smoke train.steps=10000000 --name soak --nats "$url"
for ((i = 1; i <= hosts; i++)); do start_worker "$i"; done
touch serving
for ((i = 0; i < clients; i++)); do ask "$i" & done
sleep 20

SECONDS=0
while ((SECONDS < 60 * minutes)); do
  phase calm 180
  phase faults 420
done
rm serving
kill -TERM "${pid[coordinator]}"
while kill -0 "${pid[coordinator]}" 2>/dev/null; do sleep 1; done
for kind in "${!faults[@]}"; do echo "  $kind: ${faults[$kind]}"; done
echo "answers of the served model:"
cat answers* | sort | uniq -c
"$program" verify soak --workers 2

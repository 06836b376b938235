#!/usr/bin/env bash
# A sweep that is killed again and again, with workers that come and go, beside one that nobody disturbs: the tables of
# their trials are compared byte for byte. SWITCHYARD is the program; TRIALS and KILLS are the size of the case.
set -euo pipefail
program=${SWITCHYARD:-switchyard} trials=${TRIALS:-30} kills=${KILLS:-5}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
cat > s.yaml <<EOF
preset: fhn/smoke
method: tpe
run_cap: $trials
parameters:
  optim.rate: {min: 1e-4, max: 1, distribution: log_uniform_values}
  model.hidden: [4, 8, 16]
  seed: [1, 2]
early_terminate: {type: halving, min_iter: 6}
EOF
echo "undisturbed, 3 workers"
"$program" sweep s.yaml --name whole --workers 3 --web none --quiet > whole.txt

# Workers in processes of their own join while the sweep listens, and are killed as well.
port=$((20000 + RANDOM % 20000))
lead() { exec "$program" sweep s.yaml --name broken --workers 1 --listen "127.0.0.1:$port" --web none --quiet > broken.txt 2> broken.err; }
records() { if [ -e sweeps/broken/journal.jsonl ]; then wc -l < sweeps/broken/journal.jsonl; else echo 0; fi; }
all=$(wc -l < sweeps/whole/journal.jsonl)
for ((kill = 1; kill <= kills; kill++)); do
  lead & leader=$!
  "$program" worker --nats "nats://127.0.0.1:$port" --quiet 2>/dev/null & guest=$!
  half=$((all * (2 * kill - 1) / (2 * kills + 2))) target=$((all * kill / (kills + 1)))
  until (($(records) >= half)) || ! kill -0 "$leader" 2>/dev/null; do sleep 0.05; done
  kill -KILL "$guest" 2>/dev/null || true
  until (($(records) >= target)) || ! kill -0 "$leader" 2>/dev/null; do sleep 0.05; done
  kill -KILL "$leader" 2>/dev/null || { echo "the sweep ended before kill $kill"; cat broken.err; exit 1; }
  wait "$guest" "$leader" 2>/dev/null || true
  echo "killed $kill of $kills at record $(records) of about $all"
done
(lead)
cmp sweeps/whole/trials.csv sweeps/broken/trials.csv
echo "equal: $(sha256sum < sweeps/broken/trials.csv | cut -c1-16), $(($(wc -l < sweeps/broken/trials.csv) - 1)) trials"

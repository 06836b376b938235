#!/bin/sh
# Trains every model on maze and reacher at a small size, with three seeds each, and evaluates it: the runs of models.md.
# What is there already is left alone, so an interrupted sitting goes on with the same command.
#
#     sh docs/results/models.sh [SWITCHYARD [RUNS]]          trains, then prints the tables
#     sh docs/results/models.sh --tables [RUNS]              prints the tables of what is there
#
# SWITCHYARD is the program, RUNS the folder of the runs. A run takes one core.
set -eu
program=${1:-switchyard}
runs=${2:-runs/models}
all="static linear lstm dvbf fusion deterministic concrete normal kvae rslds trslds"
updates=6000

common="train.batch=16 train.shards=1 train.validation_episodes=256 train.validate_every=0 train.checkpoint_every=0
  optim.clip=0 optim.decay=0.3"
deep="model.hidden=64 model.blocks=1"
# The temperatures end at about 70 % of the updates: 76 factors of 0.97.
concrete="$deep model.switching=concrete model.kl_samples=2 anneal.every=$((updates * 7 / 10 / 76))"

# settings prints the settings of a model in an environment.
settings() {
  softmax=
  if [ "$1" = maze ]; then softmax="model.weights=softmax"; fi
  case $2 in
    concrete) echo "model.kind=slds $concrete $softmax" ;;
    normal) echo "model.kind=slds $deep model.switching=normal $softmax" ;;
    deterministic) echo "model.kind=slds $deep model.switching=deterministic $softmax" ;;
    fusion) echo "model.kind=fusion $deep" ;;
    dvbf) echo "model.kind=dvbf $deep" ;;
    # With a state of as many dimensions as the presets have (16 and 32) and no clipping its transition becomes unstable.
    kvae) echo "model.kind=kvae $deep model.latent=12 anneal.mixing_from=500 optim.clip=10" ;;
    lstm) echo "model.kind=lstm model.hidden=64" ;;
    static | linear) echo "model.kind=$2" ;;
    rslds | trslds) echo "model.kind=$2" ;;
  esac
}

# gradient prints the settings of training by gradient. An update of the KVAE, a Kalman filter and a smoother on the tape,
# takes eight times that of the others, so it makes fewer.
gradient() {
  n=$updates rate=5e-3
  if [ "$2" = kvae ]; then n=$((updates / 3)); fi
  if [ "$1" = maze ]; then rate=3e-3; fi
  echo "train.steps=$n optim.decay_every=$((n / 4)) optim.rate=$rate"
}

# make trains and evaluates one model with one seed.
make() {
  name=$1-$2-$3
  if [ -s "$runs/$name/tables/table1.json" ]; then return; fi
  rm -rf "${runs:?}/$name"
  case $2 in
    rslds | trslds) way="env.episodes=200 model.sweeps=200 model.burn_in=100 model.exchange=50 model.chains=2 model.draws=25" ;;
    *) way="$common $(gradient "$1" "$2")" ;;
  esac
  # shellcheck disable=SC2046,SC2086 # words, each a setting
  "$program" train "$1/faithful" $way $(settings "$1" "$2") "seed=$3" --workers 1 --quiet --runs-dir "$runs" --name "$name" \
    > "$runs/$name.txt" 2>&1 || echo "$name failed: see $runs/$name.txt" >&2
}

# tables prints one table for each environment: mean over the seeds, and in brackets the smallest and the largest.
tables() {
  for env in reacher maze; do
    printf '\n### %s\n\n| model | 1 | 5 | 10 | bound | seeds |\n|---|---|---|---|---|---|\n' $env
    for model in $all; do
      for seed in 1 2 3; do
        run=$runs/$env-$model-$seed
        if ! [ -s "$run/tables/table1.json" ]; then continue; fi
        ratios=$(sed -n 's/.*"ratio_to_static":{"1":\([^,]*\),"5":\([^,]*\),"10":\([^}]*\)}.*/\1 \2 \3/p' "$run/tables/table1.json")
        bound=$(sed -n 's/.*"validation_elbo": \([^,]*\).*/\1/p' "$run/run.json")
        echo "$ratios ${bound:-none}"
      done | awk -v model="$model" '
        function add(i, v) {
          if (v == "none") { none = 1; return }
          sum[i] += v
          if (NR == 1 || v + 0 < low[i]) low[i] = v + 0
          if (NR == 1 || v + 0 > high[i]) high[i] = v + 0
        }
        { for (i = 1; i <= 4; i++) add(i, $i) }
        END {
          if (NR == 0) exit
          printf "| %s |", model
          for (i = 1; i <= 4; i++) {
            if (i == 4 && none) printf " – |"
            else if (i == 4) printf " %.2f (%.2f … %.2f) |", sum[i] / NR, low[i], high[i]
            else printf " %.3f (%.3f … %.3f) |", sum[i] / NR, low[i], high[i]
          }
          printf " %d |\n", NR
        }'
    done
  done
}

if [ "$program" = --tables ]; then
  tables
  exit
fi
mkdir -p "$runs"
for models in "static linear lstm concrete normal deterministic fusion dvbf" "rslds trslds kvae"; do
  for seed in 1 2 3; do
    for env in reacher maze; do
      for model in $models; do make $env "$model" $seed; done
    done
  done
done
tables

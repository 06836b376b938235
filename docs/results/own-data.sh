#!/usr/bin/env bash
# own-data.sh DIR [NAME...]: fits real data sets, which R and statsmodels install (Debian: r-base-core, python3-statsmodels),
# with `switchyard fit` and nothing else. It works in DIR and prints the table of own-data.md, a row for each set.
# BUDGET (30s), SEEDS ("1 2 3"), WORKERS (1) and STATSMODELS, the folder of that package, may be set. `switchyard` and jq
# have to be in PATH. What is done is not done again: the same command goes on.
set -euo pipefail
here=$(mkdir -p "$1" && cd "$1" && pwd)
shift
only=("$@")
statsmodels=${STATSMODELS:-/usr/lib/python3/dist-packages/statsmodels}

# The data as somebody would write them down: one file each, with the names and the dates that it has in R.
write_data() {
	Rscript - <<'R'
month <- function(x) sprintf("%d-%02d", as.integer(floor(time(x) + 1e-6)), as.integer(cycle(x)))
quarter <- function(x) sprintf("%dQ%d", as.integer(floor(time(x) + 1e-6)), as.integer(cycle(x)))
save <- function(name, d, rows = FALSE) write.csv(d, paste0(name, ".csv"), row.names = rows)
save("lynx", data.frame(year = as.integer(time(lynx)), lynx = as.integer(lynx)))
save("sunspots", data.frame(month = month(sunspots), sunspots = as.numeric(sunspots)))
save("EuStockMarkets", EuStockMarkets, TRUE)
save("UKgas", data.frame(quarter = quarter(UKgas), gas = as.numeric(UKgas)))
save("nottem", data.frame(month = month(nottem), temperature = as.numeric(nottem)))
save("AirPassengers", data.frame(month = month(AirPassengers), passengers = as.numeric(AirPassengers)))
save("ChickWeight", as.data.frame(ChickWeight), TRUE)
save("Nile", data.frame(year = as.integer(time(Nile)), flow = as.numeric(Nile)))
save("LakeHuron", data.frame(year = as.integer(time(LakeHuron)), level = as.numeric(LakeHuron)))
save("beaver1", beaver1, TRUE)
save("airquality", airquality, TRUE)
save("deaths", data.frame(month = month(ldeaths), male = as.numeric(mdeaths), female = as.numeric(fdeaths)))
save("treering", data.frame(year = as.integer(time(treering)), width = as.numeric(treering)))
save("Seatbelts", data.frame(month = month(Seatbelts), as.data.frame(Seatbelts)))
save("presidents", data.frame(quarter = quarter(presidents), approval = as.numeric(presidents)))
save("JohnsonJohnson", data.frame(quarter = quarter(JohnsonJohnson), earnings = as.numeric(JohnsonJohnson)))
save("Theoph", as.data.frame(Theoph), TRUE)
save("Loblolly", as.data.frame(Loblolly), TRUE)
save("BJsales", data.frame(day = seq_along(BJsales), sales = as.numeric(BJsales), lead = as.numeric(BJsales.lead)))
save("WWWusage", data.frame(minute = seq_along(WWWusage), users = as.numeric(WWWusage)))
save("austres", data.frame(quarter = quarter(austres), residents = as.numeric(austres)))
save("nhtemp", data.frame(year = as.integer(time(nhtemp)), temperature = as.numeric(nhtemp)))
save("sunspot.year", data.frame(year = as.integer(time(sunspot.year)), sunspots = as.numeric(sunspot.year)))
save("lh", data.frame(sample = seq_along(lh), hormone = as.numeric(lh)))
R
	local name file
	for name in co2 macrodata elnino interest_inflation elec_equip danish_data; do
		file=$(ls "$statsmodels"/datasets/"$name"/"$name".csv 2>/dev/null || true)
		test -z "$file" || cp "$file" "$name.csv"
	done
}

# row NAME prints the row of a data set: the steps, the models of the seeds, and for each seed the error over that of the
# best simple rule and of the autoregression, with its paired standard error where there is one, and the seconds.
row() {
	local steps
	steps=$(switchyard data info "$1.csv" --json | jq '.steps')
	jq -rs --arg name "$1" --arg steps "$steps" --arg took "$(cat took-"$1"-? | tr '\n' ' ')" '
		def two: . * 100 | round / 100 | tostring;
		def ratio: if . == null then "–" elif .standard_error == null then .error_ratio | two
			else "\(.error_ratio | two) ± \(.standard_error | two)" end;
		def model: [.settings[] | select(startswith("model.kind=") or startswith("model.season=") or startswith("model.switches=")
			or startswith("model.order=") or startswith("model.past") or startswith("env.transform=")) | sub("^[a-z]+\\."; "")] | join(" ");
		def rule: .against | map(select((.name | startswith("ARX") | not) and .error_ratio != null)) | max_by(.error_ratio);
		def order: .against | map(select(.name | startswith("ARX"))) | first;
		[$name, $steps, (map(model) | unique | join("; ")), (map(rule | .name // "–") | unique | join("; ")),
			(map(rule | ratio) | join(", ")), (map(order | ratio) | join(", ")), $took] | @tsv' fit-"$1"-?.json
}

cd "$here"
test -e lynx.csv || write_data
printf 'data set\tsteps\tmodels\tbest rule\tover the rule\tover AR\tseconds\n' | tee table.tsv
for file in *.csv; do
	name=${file%.csv}
	[[ ${#only[@]} -eq 0 || " ${only[*]} " == *" $name "* ]] || continue
	for seed in ${SEEDS:-1 2 3}; do
		if [[ ! -s fit-$name-$seed.json ]]; then
			begun=$(date +%s)
			switchyard fit "$file" --name "${name//./-}-$seed" --seed "$seed" --budget "${BUDGET:-30s}" --workers "${WORKERS:-1}" \
				--json --quiet > part-$name-$seed.json 2> "log-$name-$seed" && mv part-$name-$seed.json "fit-$name-$seed.json" ||
				{ echo "$name $seed: refused, see log-$name-$seed"; continue; }
			echo $(($(date +%s) - begun)) > "took-$name-$seed"
		fi
	done
	ls fit-"$name"-?.json > names 2> none && row "$name" | tee -a table.tsv
done

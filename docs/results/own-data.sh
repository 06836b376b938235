#!/usr/bin/env bash
# own-data.sh DIR [NAME...]: takes real data sets, which R and statsmodels installed on this machine (Debian: r-base-core,
# python3-statsmodels), from file to forecast, regimes and export, by the commands that `data info` and the end of
# training suggest, word for word. It works in DIR and prints the table of own-data.md. SEED=2 gives every run that seed.
# `switchyard` has to be in PATH.
set -euo pipefail
here=$(mkdir -p "$1" && cd "$1" && pwd)
shift
only=("$@")

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
R
	local name file
	for name in co2 macrodata elnino; do
		file=$(ls /usr/lib/python3/dist-packages/statsmodels/datasets/"$name"/"$name".csv 2>/dev/null || true)
		test -z "$file" || cp "$file" "$name.csv"
	done
}

# suggested FILE WORD prints the first command that FILE suggests with this word, as one line. Only seed= is added.
suggested() {
	sed -n '/^suggested\|^next/,$p' "$1" | sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba}' | grep -m1 "switchyard $2" | sed 's/^ *//'
}

# scores NAME prints the row of a data set.
scores() {
	local run=$(ls -d runs/* | head -1)
	jq -r '[.steps/1, (.channels | map(select(.signal=="y")) | length), .missing] | @tsv' info.json | tr '\n' '\t'
	awk '/^trained/ {for (i = 1; i < NF; i++) if ($i == "in") printf "%s\t", $(i+1)}' train.txt
	awk '/^scores/ {on = 1} on && /^(model|persistence|linear|seasonal|ARX)/ {
		for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9.]+$/) {first = i; break}
		name = $1; mase[name] = $(first+2); if (name == "model") cover = $(first+5)}
		/^recordings,/ {print mase["model"] "\t" mase["persistence"] "\t" mase["linear"] "\t" (mase["seasonal"] ? mase["seasonal"] : "–") "\t" (mase["ARX"] ? mase["ARX"] : (mase["ARX(1)"] ? mase["ARX(1)"] : "–")) "\t" cover; exit}' \
		<(sed 's/^ARX([0-9]*)/ARX/' train.txt) | tr '\n' '\t'
	awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
		{n++; if ($at["error"] < $at["persistence"] && $at["error"] < $at["linear"]) won++}
		END {printf "%d of %d\t", won, n}' "$run/tables/recordings.csv"
	awk '/^regimes$/ {on = 1; next} on && /^[0-9]+ / {if ($2 >= 1) n++} on && /^$/ {exit} END {print n+0}' train.txt
}

cd "$here"
test -e lynx.csv || write_data
printf 'data set\tsteps\td\tmissing\ttraining\tmodel\tpersistence\tlinear\tseason\tARX\tin 80 %%\tbetter at\tregimes\n' | tee table.tsv
for file in *.csv; do
	name=${file%.csv}
	[[ ${#only[@]} -eq 0 || " ${only[*]} " == *" $name "* ]] || continue
	rm -rf "run-$name"
	mkdir "run-$name"
	cp "$file" "run-$name/"
	cd "run-$name"
	switchyard data info "$file" --json > info.json
	{
		switchyard data info "$file" > info.txt                                        # 1
		eval "$(suggested info.txt train) ${SEED:+seed=$SEED}" > train.txt 2> log.txt  # 2
		eval "$(suggested train.txt forecast)" > forecast.txt                          # 3
		eval "$(suggested train.txt export)" > export.txt                              # 4
	} || { echo "$name: refused, see run-$name"; cd ..; continue; }
	printf '%s\t%s\n' "$name" "$(scores)" | tee -a ../table.tsv
	cd ..
done

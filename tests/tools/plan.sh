#!/bin/bash
# plan.sh - sizes and rates on paper
. "${0%/*}/tap.sh"

the_table_of_the_literature_comes_out() {
	bloomery plan --table --mn 22..32 --k 17..24 | tr -s ' ' | sed 's/^ //' > got
	cat > want <<-'E'
		m/n k k=17 k=18 k=19 k=20 k=21 k=22 k=23 k=24
		22 15.2 2.67e-05
		23 15.9 1.61e-05
		24 16.6 9.84e-06 1e-05
		25 17.3 6.08e-06 6.11e-06 6.27e-06
		26 18 3.81e-06 3.76e-06 3.8e-06 3.92e-06
		27 18.7 2.41e-06 2.34e-06 2.33e-06 2.37e-06
		28 19.4 1.54e-06 1.47e-06 1.44e-06 1.44e-06 1.48e-06
		29 20.1 9.96e-07 9.35e-07 9.01e-07 8.89e-07 8.96e-07 9.21e-07
		30 20.8 6.5e-07 6e-07 5.69e-07 5.54e-07 5.5e-07 5.58e-07
		31 21.5 4.29e-07 3.89e-07 3.63e-07 3.48e-07 3.41e-07 3.41e-07 3.48e-07
		32 22.2 2.85e-07 2.55e-07 2.34e-07 2.21e-07 2.13e-07 2.1e-07 2.12e-07 2.17e-07
	E
	diff got want
	bloomery plan --table --mn 22..32 --k 17..24 --json | holds 'len(all) == 47'
	bloomery plan --table > /dev/null
}

bits_give_a_rate() {
	bloomery plan -m 16 -n 1 -k 8 | grep -q 0.0005745
	bloomery plan -m 16 -n 1 -k 8 --json | holds 'abs(j["predicted_rate"] / 5.745e-4 - 1) < 1e-3'
	bloomery plan -m 20 -n 1 -k 10 --json | holds 'abs(j["predicted_rate"] / 8.8942e-5 - 1) < 1e-4'
	bloomery plan -n 1000 -m 20000 -k 10 --bound | grep -q 8.932e-05
	bloomery plan -n 1e6 -m 9585059 --json |
		holds 'j["k"] == 7 and abs(j["best_k"] - 6.644) < 1e-3 and abs(j["fill"] - 0.5182) < 1e-4'
}

a_rate_gives_bits_for_every_kind() {
	bloomery plan -n 1m -p 0.01 --json > j
	same "$(json 'sorted(x["kind"] for x in all)' < j)" "$(bloomery kinds --json | json 'sorted(x["name"] for x in all if x["hash"] != "integer" and "diff" not in x["can"])')"
	holds 'min(x["predicted_rate"] <= 0.01 for x in all)' < j
	holds 'min(abs(x["lower_bound"] - (6.6439 if x["kind"] != "range" else 16.6439)) < 1e-3 for x in all)' < j
	holds 'min(1.4 < x["over_lower_bound"] < 2 for x in all if x["kind"] in ("classic", "blocked", "split-block", "hash-compact"))' < j
	bloomery plan -n 1m -p 0.01 | grep -q 9.585
	same "$(bloomery plan -n 1m --kind classic | grep -c '^classic')" 1
	bloomery plan -n 1m -m 10Mi -k 5 --kind blocked --json | holds 'j["k"] == 5 and j["m"] == 10485760'
}

a_file_that_lacks_its_numbers_is_measured_with_them() {
	bloomery create ./f -n 500 -p 0.01 --format libbloom1
	seq 500 | bloomery add ./f; bloomery export ./f --format libbloom1 -o raw
	m=$(bloomery info ./f --json | json 'j["m"]') k=$(bloomery info ./f --json | json 'j["k"]')
	bloomery measure ./raw --format libbloom1 -m "$m" -k "$k" --questions 100k --json > o
	holds "j['m'] == $m and j['k'] == $k and 0 < j['rate'] < 0.1" < o
	exits 64 bloomery measure ./raw -n 500; says 'its own kind and size'
}

it_recommends_a_kind_for_each_need() {
	bloomery plan -n 10m -p 0.001 > o
	sed '1,/^Recommended/d' o > needs
	same "$(wc -l < needs)" 5
	kind() { sed -n "s/^  .*$1 *\([a-z-]*\) .*iB$/\1/p" needs; }
	bloomery create ./default -n 10 -p 0.1
	same "$(kind 'one by one')" "$(bloomery info ./default --json | json 'j["kind"]')"
	bloomery plan -n 10m -p 0.001 --json > sizes; bloomery kinds --json > kinds
	can() { json "[set(x['can']) for x in all if x['name'] == '$1'][0]" < kinds; }
	bytes() { json "[x['bytes'] for x in all if x['kind'] == '$1'][0]" < sizes; }
	[ "$(bytes "$(kind 'matters most')")" -le "$(bytes "$(kind 'one by one')")" ]
	can "$(kind 'removed again')" | grep -q "'remove'"
	not grep "'add'" <(can "$(kind 'known beforehand')")
	[ "$(bytes "$(kind 'known beforehand')")" -lt "$(bytes "$(kind 'matters most')")" ]
	bloomery kinds | grep -A1 "^$(kind 'not known') " | grep -q add
	not grep -q Recommended <(bloomery plan -n 10m --kind classic)
	bloomery plan -n 10m -p 0.001 --json | holds 'len(all) > 15'
}

the_bound_is_printed_only_where_it_holds() {
	for kind in bitmap iblt; do
		bloomery plan -n 1000 -p 0.01 --kind $kind > o; not grep -q 'no filter takes fewer' o
		same "$(tr -s ' ' < o | grep "^$kind " | cut -d' ' -f5)" -
	done
	bloomery plan -n 1000 --kind bitmap --json | holds 'j["lower_bound"] is None and j["over_lower_bound"] is None'
	bloomery plan -n 1000 -p 0.01 --kind classic | grep -q 'no filter takes fewer'
	bloomery plan --help | grep -q iblt
}

the_kinds_are_as_small_as_their_summaries_say() {
	bits() { bloomery plan -n $1 -p $2 --kind $3 --json | json 'j["bits_per_key"]'; }
	summary() { bloomery kinds --json | json "[x['summary'] for x in all if x['name'] == '$1'][0]"; }
	summary cuckoo | grep -q 'below a rate of 0.0033, and three times that on disk'; summary d-left | grep -q 'below a rate of 0.01 in less than half'
	for n in 100k 1m 10m; do
		for p in 0.0033 0.0025 0.0018 0.0009 0.0005 0.0003 0.0001 0.00001; do same "$(python3 -c "print($(bits $n $p cuckoo) < $(bits $n $p classic))")" True; done
		same "$(python3 -c "print($(bits $n 0.00355 cuckoo) > $(bits $n 0.00355 classic))")" True
		for p in 0.00999 0.005 0.001 0.0001; do same "$(python3 -c "print($(bits $n $p d-left) < $(bits $n $p counting) / 2)")" True; done
	done
	bloomery plan -n 1m -p 0.001 --kind cuckoo --json | holds 'j["bytes"] > 1.9 * j["data_bytes"]'
}

the_overflow_of_counters_is_predicted() {
	bloomery plan -n 1m -m 14426950 -k 10 --kind counting | grep -q 7.07e-17
	bloomery plan -n 1m -m 14426950 -k 10 --kind counting --json | holds 'abs(j["facts"]["overflow"] / 7.07e-17 - 1) < 0.01'
	bloomery plan -n 1m -m 14426950 -k 10 --kind counting --with bits=3 --json | holds 'abs(j["facts"]["overflow"] / 7.2e-7 - 1) < 0.01'
	bloomery plan -n 1m --kind classic --json | holds 'j["facts"] == {}'
}

the_plan_is_what_create_makes() {
	local tried=0
	for kind in $(bloomery kinds --json | json '" ".join(x["name"] for x in all if not {"add", "put"} & set(x["can"]))'); do
		tried=$((tried + 1)); plan=$(bloomery plan -n 12345 -p 0.003 --kind $kind --json | json 'j["bytes"]')
		(seq 12345 | awk '{ print $1 "\t1" }') | bloomery build ./$kind -p 0.003 --kind $kind --field 1
		bloomery info ./$kind --json | holds "0.95 < j['bytes'] / $plan < 1.05"
	done
	for kind in $(bloomery kinds --json | json '" ".join(x["name"] for x in all if {"add", "put"} & set(x["can"]))'); do
		bloomery create ./$kind -n 12345 -p 0.003 --kind $kind
		tried=$((tried + 1)); plan=$(bloomery plan -n 12345 -p 0.003 --kind $kind --json | json 'j["m"], j["k"], j["bytes"]')
		same "$(bloomery info ./$kind --json | json 'j["m"], j["k"], j["bytes"]')" "$plan"
	done
	[ $tried -gt 15 ]
}

non_filters_are_compared_with_the_kinds() {
	bloomery plan -n 100m -p 0.01 --compare --json > j
	same "$(json '" ".join(x["structure"] for x in all if "structure" in x)' < j)" 'hash-table one-hash perfect-hash'
	same "$(json '[x["bytes"] for x in all if x.get("structure") == "hash-table"][0]' < j)" 1600000000
	holds 'abs([x["bits_per_key"] for x in all if x.get("structure") == "one-hash"][0] - 99.499) < 1e-3' < j
	holds 'abs([x["bits_per_key"] for x in all if x.get("structure") == "perfect-hash"][0] - 7 - math.log2(math.e)) < 1e-9' < j
	holds 'max(x["predicted_rate"] for x in all if "structure" in x) <= 0.01' < j
	same "$(bloomery plan -n 100m -p 0.01 --json | json 'len([x for x in all if "structure" in x])')" 0
	bloomery plan -n 1 -p 0.9 --compare > /dev/null; bloomery plan -n 1m -p 1e-30 --compare > /dev/null
}

numbers_that_mean_nothing_for_a_kind_are_left_out() {
	bloomery plan -n 1m -p 0.01 > sizes
	same "$(awk '$2 == "-" { print $1, $3 }' sizes | sort | tr '\n' ' ')" 'golomb - range - '
	same "$(awk '$1 == "classic" || $1 == "fuse" { print $2, $3 }' sizes | tr '\n' ' ')" "$(bloomery plan -n 1m -p 0.01 --json | json '" ".join("%d %d" % (x["m"], x["k"]) for x in all if x.get("kind") in ("classic", "fuse"))') "
}

bars_have_the_length_of_their_numbers() {
	bloomery plan -n 1m -p 0.01 --compare --plot | sed '1,/^Bits a key/d' > bars
	awk '{ n = gsub("#", ""); cut = index($0, ">") > 0; if (cut != ($(NF - cut) > 8 * 6.644) || (!cut && n != int($(NF) * 48 / (8 * 6.644) + 0.5))) print }' \
		<(sed 's/^lower bound/lower-bound/; s/ \(#*\)\(>*\)$/\1 \2/' bars) > wrong
	same "$(cat wrong)" ''
	same "$(wc -l < bars)" $(($(bloomery plan -n 1m -p 0.01 --json | wc -l) + 4))
	bloomery plan -n 1m -p 0.01 --compare --svg bars.svg > /dev/null
	# a mark for each bar but that of the lower bound, in the same order, at its logarithm; two marks are the legend
	python3 -c '
import math, re, sys, xml.etree.ElementTree as tree
svg = tree.parse("bars.svg").getroot()
of = lambda name: [e for e in svg if e.tag.endswith("}" + name)]
bars = [re.match("(.*?) +([0-9.e+]+) #+", line).groups() for line in open("bars")]
names = [e.text for e in of("text") if e.get("text-anchor") == "end"]
values = [(float(e.text), float(e.get("x"))) for e in of("text") if re.fullmatch("[0-9.e+]+", e.text) and not e.get("text-anchor")]
assert bars[0][0] == "lower bound" and names == [name for name, value in bars[1:]], names
assert [v for v, x in values] == [float(value) for name, value in bars[1:]] == sorted(v for v, x in values)
(v, x), (w, y) = values[0], values[-1]
assert all(abs(a - x - (y - x) * math.log(u / v) / math.log(w / v)) < 0.5 for u, a in values)
assert len(of("circle")) == len(names) - 3 + 1 and len(of("rect")) == 3 + 1 + 1' > wrong 2>&1 || cat wrong
	same "$(< wrong)" ""
	exits 2 bloomery plan -n 1m -p 0.01 --svg bars.svg; says 'exists'
	exits 64 bloomery plan -n 1m -m 10m --plot; exits 64 bloomery plan --table --compare; exits 64 bloomery plan -n 1m --plot --json
}

a_plot_of_a_measurement_has_sorted_rates() {
	bloomery measure -n 10000 -p 0.01 --questions 100000 --svg rates.svg --json > rates
	bloomery measure -n 1000 -p 1e-9 --questions 10000 --svg none.svg --json > none
	python3 -c '
import json, re, xml.etree.ElementTree as tree
for name in "rates", "none":
    svg = tree.parse(name + ".svg").getroot(); m = json.load(open(name))
    of = lambda name: [e for e in svg if e.tag.endswith("}" + name)]
    rows = [e.text for e in of("text") if e.get("text-anchor") == "end"]
    values = [float(e.text.removeprefix("at most ")) for e in of("text") if re.fullmatch("(at most )?[0-9.e-]+", e.text) and not e.get("text-anchor")]
    shown = dict(zip(rows, values))
    assert sorted(values) == values and sorted(rows) == ["formula", "from bits", "measured", "promised"], rows
    for row, field in ("formula", "formula"), ("from bits", "predicted_rate"), ("measured", "rate" if m["found"] else "rate_error"):
        assert abs(shown[row] / m[field] - 1) < 1e-3, row
    assert len(of("circle")) == (m["found"] > 0) and len(of("rect")) == 1 + 3
    (bar,) = of("path"); left, right = re.match("M([0-9.]+) [0-9.]+H([0-9.]+)M", bar.get("d")).groups()
    assert ("logarithmic" in tree.tostring(svg, encoding="unicode")) == (name == "none")
    if m["found"]:
        # one error on each side, by the scale of the numbers below
        ticks = [(float(e.text), float(e.get("x"))) for e in of("text") if e.get("text-anchor") == "middle" and re.fullmatch("[0-9.e-]+", e.text)]
        (u, x), (v, y) = ticks[0], ticks[-1]; scale = (y - x) / (v - u)
        assert abs((float(right) - float(left)) / (2 * m["rate_error"] * scale) - 1) < 0.05
    else:
        assert left == "120.0" and " v" not in bar.get("d")' > wrong 2>&1 || cat wrong
	same "$(< wrong)" ""
	exits 2 bloomery measure -n 1000 --questions 1000 --svg rates.svg; says 'exists'; same "$(wc -c < exits.out)" 0
}

ranks_send_and_receive_what_the_model_predicts() {
	for ranks in 1 4 16 64 4096; do bloomery plan -n 1g -p 0.001 --ranks $ranks --json; done > j
	python3 -B -c '
import argparse, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("cluster", sys.argv[1])
cluster = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cluster)
for plan in map(json.loads, open("j")):
    keys, ranks = 1e9, plan["ranks"]
    assumed = argparse.Namespace(keys=keys, size=plan["data_bytes"] / keys, ranks=min(ranks, 16), network=1.25e9, storage=1e9, disk=1e9)
    seconds, sent, _ = dict(cluster.cost(max(ranks // 16, 1), assumed))[plan["way"]]
    assert abs(plan["model_seconds"] - seconds) <= 1e-6 * seconds and abs(plan["bytes_sent"] - sent) <= 1e-6 * sent, (plan, seconds, sent)
' "$TOOLS/examples/cluster.py"
	same "$(json '" ".join(x["way"] for x in all if x["best"])' < j)" 'reduce reduce owners owners owners'
	holds 'not [x for x in all if x["rank_memory_bytes"] > x["data_bytes"] / (x["ranks"] if x["way"] == "owners" else 1) + (512 << 20)]' < j
	same "$(bloomery plan -n 1m --kind counting --ranks 3 --json | json 'j["way"]')" sum
	bloomery plan -n 1m --kind fuse --ranks 4 --json | holds 'j["way"] == "gather" and j["bytes_sent_per_key"] == 12'
	bloomery plan -n 100g --ranks 64 > out; grep -q '^\* owners .* GiB  *[0-9]* min$' out
	exits 64 bloomery plan -n 1m --kind bloomier --ranks 3; says 'they build classic, blocked, split-block'
	exits 64 bloomery plan -n 1m -m 10m --ranks 3; exits 64 bloomery plan --table --ranks 3
}

where_articles_are_wrong_the_manuals_numbers_are_printed() {
	sed -n '/^\.Sh COMMON CLAIMS/,/^\.Sh HASHES/s/^\(plan .*[^ ]\) *| \(.*\)$/\1|\2/p' "$TOOLS/man/bloomery-kinds.7" > rows
	same "$(wc -l < rows)" 14
	while IFS='|' read -r command want; do
		bloomery $command | tr -s ' ' | grep -qF -- "$want" || { echo "$command: not $want"; return 1; }
	done < rows
}

prove_all

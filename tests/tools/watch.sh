#!/bin/bash
# watch.sh - the numbers of a store for a monitoring system, and the units of systemd that run the program
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}"

# Prometheus' text format, read strictly: {"METRIC NAME": value}, where NAME is the label of that name.
parsed()
{
	python3 -c '
import json, re, sys
value, order, seen = {}, [], {}
for line in open(sys.argv[1], encoding="utf-8", newline="\n"):
    assert line.endswith("\n"), line
    words = line.split()
    if line.startswith("# TYPE"):
        assert words[3] == "gauge" and words[2] not in seen
        seen[words[2]] = True
        order.append(words[2])
        continue
    if line.startswith("# HELP"):
        continue
    metric, labels, number = re.fullmatch(r"([a-z_]+)\{((?:[a-z]+=\"(?:[^\"\\\n]|\\[\\\"n])*\",?)*)\} (\S+)\n", line).groups()
    assert metric == order[-1], line     # the values of a metric stand together
    given = dict(re.findall(r"([a-z]+)=\"((?:[^\"\\]|\\.)*)\"", labels))
    name = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], given.get("name", ""))
    assert (metric, name) not in value and given["store"]
    value[metric, name] = float(number)
json.dump({" ".join(k): v for k, v in value.items()}, sys.stdout)' "$1"
}

# Two filters, one with a name that has to be quoted, and a third that is synced.
three()
{
	seq 90 | bloomery claim seen --create -n 100 -p 0.001 > new
	bloomery create 'q"\x ü' -n 1000
	seq 5 | bloomery build done -n 5
}

the_metrics_are_the_numbers_of_ls() {
	three
	bloomery watch --prometheus - > metrics
	parsed metrics > m; bloomery ls --json > ls
	cat ls m | holds 'all[-1]["bloomery_filters "] == 3 == len(all) - 1'
	for pair in filter_keys:keys filter_capacity_keys:capacity filter_rate_promised:rate filter_bytes:bytes \
		filter_data_bytes:data_bytes filter_changed:dirty; do
		cat ls m | holds "min(all[-1]['bloomery_${pair%:*} ' + x['name']] == x['${pair#*:}'] for x in all[:-1])"
	done
	holds 'j["bloomery_filter_changed seen"] == 1 and j["bloomery_filter_changed done"] == 0 and j["bloomery_filter_info seen"] == 1' < m
	holds '0 < j["bloomery_filter_rate_predicted seen"] < 0.001 and j["bloomery_filter_synced_timestamp_seconds seen"] == 0' < m
	bloomery sync seen; bloomery watch --prometheus - > metrics; parsed metrics | holds 'j["bloomery_filter_synced_timestamp_seconds seen"] > 1e9'
	bloomery watch 's*' --prometheus - > metrics; parsed metrics | holds 'j["bloomery_filters "] == 1'
}

the_file_is_replaced_in_one_step() {
	three
	bloomery watch --prometheus out.prom
	exec 3< out.prom; cp out.prom first
	seq 91 99 | bloomery add seen
	(umask 077; bloomery watch --prometheus out.prom)
	cmp first - <&3		# who has the old file open has all of it
	not cmp -s first out.prom
	same "$(stat -c %a out.prom)" 644
	ls out.prom* > files; same "$(< files)" out.prom
	exits 2 bloomery watch --prometheus none/out.prom; says none/out.prom
	mkdir folder; exits 2 bloomery watch --prometheus folder; says 'folder: Is a directory'
	ls -d folder* > files; same "$(< files)" folder
}

special_files_are_not_replaced() {
	three
	mkfifo fifo; echo old > real; ln -s real link; ln -s nothing dangling
	for f in fifo link dangling; do exits 2 bloomery watch --prometheus $f; says "$f: is a device, a pipe or a link"; done
	[ -p fifo ]; [ -L link ]; [ -L dangling ]; same "$(< real)" old
}

another_store_at_the_path_is_not_the_first() {
	local pid code=0
	three
	bloomery watch --prometheus out.prom --every 0.05s 2> err & pid=$!
	until [ -e out.prom ]; do sleep 0.05; done
	mv store old; mkdir store
	wait $pid || code=$?
	same $code 2; grep -qE 'another one is there now|no store|No such file' err
}

the_path_of_a_store_is_complete_valid_utf_8() {
	bloomery create one -n 1 --store $'./caf\xe9'
	bloomery watch --store $'./caf\xe9' --prometheus - > metrics
	parsed metrics > m
	grep -qF "store=\"$PWD/caf" metrics
}

it_goes_on_until_a_signal_ends_it() {
	local code=0 pid
	three
	bloomery watch --prometheus out.prom --every 1h &
	pid=$!
	until [ -e out.prom ]; do sleep 0.05; done
	kill $pid
	wait $pid || code=$?
	same $code 143
	parsed out.prom | holds 'len(j) > 20'
	bloomery watch --prometheus again.prom --every 1s &
	pid=$!
	until [ -e again.prom ]; do sleep 0.05; done
	rm again.prom
	until [ -e again.prom ]; do sleep 0.05; done
	kill $pid; wait $pid || :
}

what_cannot_be_read_is_marked() {
	three
	mv store/filters .; mkdir store/filters
	bloomery watch --prometheus - > metrics
	parsed metrics | holds 'j["bloomery_filter_unreadable seen"] == 1 and j["bloomery_filter_keys done"] == 5'
	exits 2 bloomery watch --store ./none --prometheus -
	exits 64 bloomery watch; says --prometheus
	exits 64 bloomery watch --prometheus - --every 5; says 15s
	exits 64 bloomery watch --prometheus - --every 5m; says 'minutes are written 5min'
}

the_units_of_systemd_are_right() {
	local unit
	command -v systemd-analyze > /dev/null || { echo '# SKIP systemd is not installed'; return 0; }
	mkdir units
	for unit in "$TOOLS"/examples/systemd/*; do sed -E "s#^ExecStart=(bloomery|/usr/bin/redis-server)#ExecStart=$BLOOMERY#; s/^Documentation=.*//" "$unit" > "units/${unit##*/}"; done
	[ "$(ls units | wc -l)" -ge 10 ]
	cp units/bloomery-rotate@.service units/bloomery-rotate@seen.service
	cp units/bloomery-rotate@.timer units/bloomery-rotate@seen.timer
	systemd-analyze verify --man=no units/*[a-z].service units/*[a-z].timer > said 2>&1 || { cat said; return 1; }
	grep bloomery- said > ours || :
	same "$(< ours)" ''
	sed -i 's/^Nice=/Nize=/' units/bloomery-verify.service
	systemd-analyze verify --man=no units/bloomery-verify.service > said 2>&1 || :
	grep -q "Unknown key 'Nize'" said
}

# systemd takes one backslash of two away, one $ of two, and one % of two.
the_commands_of_the_units_do_their_work() {
	local line
	three; bloomery create ./keep -n 1; bloomery create w -n 100 --kind window
	line=$(sed -n "s|^ExecStart=/bin/sh -c '\(.*\)'|\1|p" "$TOOLS/examples/systemd/bloomery-sync.service")
	line=${line//bloomery /$BLOOMERY }; line=${line//\\\\/\\}; line=${line//\$\$/\$}; line=${line//%%/%}
	bloomery info seen --json | holds 'j["synced"] is None'
	sh -c "$line"
	bloomery ls --json | holds 'len([x for x in all if x["dirty"]]) == 0 and [x["synced"] for x in all if x["name"] == "seen"][0] is not None'
	exits 2 env BLOOMERY_STORE="$PWD/none" sh -c "$line"
	BLOOMERY_STORE=$PWD/empty bloomery create gone -n 1; BLOOMERY_STORE=$PWD/empty bloomery drop gone
	BLOOMERY_STORE=$PWD/empty sh -c "$line"
	line=$(sed -n 's|^ExecStart=bloomery ||p' "$TOOLS/examples/systemd/bloomery-report.service")
	# shellcheck disable=SC2086
	bloomery ${line//\$\{STATE_DIRECTORY\}/$PWD}
	grep -q '^<title>Bloomery: ' report.html; same "$(grep -c ' seen$' history)" 1
	for line in "$(sed -n 's|^ExecStart=bloomery ||p' "$TOOLS/examples/systemd/bloomery-verify.service")" \
		"$(sed -n 's|^ExecStart=bloomery \(.*\) %i|\1 w|p' "$TOOLS/examples/systemd/bloomery-rotate@.service")"; do
		[ -n "$line" ]
		# shellcheck disable=SC2086
		bloomery $line
	done
}

prove_all

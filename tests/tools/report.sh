#!/bin/bash
# report.sh - a page about a store, for a browser, and the history that it reads
. "${0%/*}/tap.sh"
command -v python3 > /dev/null || { echo '1..0 # SKIP python3 is not installed'; exit 0; }
read_page() { python3 "${0%/*}/report_page.py" "$1" > page.json; }

# A history of the filter: ago in seconds, keys. For the file that the filter has now.
moment() { bloomery info "$1" --json | json "'%d %s %d %d %.9g %d %s' % ($(date +%s) - $2, j['uuid'], $3, j['capacity'], $4, j['bytes'], '$1')"; }

few()
{
	seq 900 | bloomery claim seen --create -n 1000 -p 0.001 > new
	bloomery template seen other; seq 801 1100 | bloomery add other
	bloomery create counts -n 500 --kind counting; seq 30 | bloomery add counts
	bloomery create grows -n 100 -p 0.01 --kind scalable; seq 1000 | bloomery add grows
	seq 70 | bloomery build done -n 70 --kind ribbon
	seq 300 | bloomery claim beyond --create -n 100 -p 0.01 > new 2> warning
}

its_numbers_are_those_of_info() {
	few
	bloomery report -o page.html
	read_page page.html
	bloomery info seen other counts grows done beyond --json > info
	cat info page.json | holds 'set(all[-1]["filters"]) == {x["name"] for x in all[:-1]}'
	cat info page.json | holds 'min(int(all[-1]["filters"][x["name"]][2].replace(",", "")) == x["keys"] for x in all[:-1])'
	cat info page.json | holds 'min(int(all[-1]["filters"][x["name"]][3].replace(",", "")) == x["capacity"] for x in all[:-1])'
	cat info page.json | holds 'min(all[-1]["filters"][x["name"]][5] == ("" if x["fill"] is None else "%.4g %%" % (100 * x["fill"])) for x in all[:-1])'
	cat info page.json | holds 'min(all[-1]["filters"][x["name"]][6:8] == ["%.3g" % x["predicted_rate"], "%.3g" % x["rate"]] for x in all[:-1])'
	cat info page.json | holds 'min(all[-1]["filters"][x["name"]][1] == x["kind"] for x in all[:-1])'
	cat info page.json | holds 'all[-1]["filters"]["beyond"][4] == "!! %.0f %%" % (100 * [x for x in all if x.get("name") == "beyond"][0]["keys"] / 100)'
	holds 'j["filters"]["seen"][4].startswith("! 9") or j["filters"]["seen"][4].startswith("! 8")' < page.json
	holds 'j["filters"]["grows"][4] == "" and j["tiles"]["filters"] == "6" and j["tiles"]["beyond capacity"] == "! 1"' < page.json
	holds 'list(j["cards"])[0] == "beyond" and "Nothing is wrong" in j["findings"]' < page.json
	bloomery report 's*' -o page.html; read_page page.html; holds 'list(j["filters"]) == ["seen"]' < page.json
}

text_of_others_stays_text() {
	local evil='</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;"'\'
	bloomery create '<b>&"ü'\' -n 10; bloomery label '<b>&"ü'\' "note=$evil"
	bloomery label '<b>&"ü'\' $'act=a\e[31mb\302\233c\342\200\256d\342\200\250e\377'
	bloomery report -o page.html
	read_page page.html
	holds 'list(j["filters"]) == ["<b>&\"ü'\''"]' < page.json
	python3 -c 'import json, sys; p = json.load(open("page.json")); sys.exit(sys.argv[1] not in p["text"])' "note=$evil"
	holds '"act=a\\x1b[31mb\\u009bc\\u202ed\\u2028e\\xff" in j["text"]' < page.json
	bloomery create x -n 10 --store './<i>&'
	bloomery report --store './<i>&' -o page.html; read_page page.html
	holds 'j["title"].endswith("/<i>&")' < page.json
}

the_pace_predicts_the_day_a_filter_fills() {
	local keys
	bloomery create seen -n 1000 -p 0.001; seq 800 | bloomery add seen
	keys=$(bloomery info seen --json | json 'j["keys"]')
	bloomery report -o page.html; read_page page.html; holds 'j["planned"] == {} and "at least an hour" in j["text"]' < page.json
	# the rest arrives in 12 days, at the pace of the last 7; and before that there was another
	# file
	{
		echo '1000000000 00000000-0000-0000-0000-000000000000 5 1000 1e-9 20000 seen'
		moment seen $((86400 * 30)) 10 1e-8
		moment seen $((86400 * 7)) "$((keys - (1000 - keys) * 7 / 12))" 1e-4
		moment seen 60 "$((keys - 1))" 1e-3
		echo 'a line that nothing wrote'
		printf '%s' '5 cut'
	} > history
	cp history before
	bloomery report -o page.html --history history; read_page page.html
	holds '"full in 12 days at this pace" in j["planned"]["seen"][3] and "7 days" in j["planned"]["seen"][2]' < page.json
	holds 'j["filters"]["seen"][9] == "12 days" and "full in 12 days at this pace" in j["cards"]["seen"]["text"]' < page.json
	# two drawings of four moments and of now, and the dashed line to come
	holds 'j["cards"]["seen"]["dots"] == 10 and j["cards"]["seen"]["lines"].count("f") == 1 and j["cards"]["seen"]["lines"].count("l") == 2' < page.json
	holds 'j["tiles"]["full in 30 days"] == "! 1"' < page.json
	same "$(wc -l < history)" "$(($(wc -l < before) + 2))"; same "$(sed -n "1,5p" history)" "$(sed -n 1,5p before)"
	same "$(tail -n 1 history | cut -d' ' -f3-)" "$(bloomery info seen --json | json '"%d 1000 %s %d seen" % (j["keys"], "'"$(tail -n 1 history | cut -d' ' -f5)"'", j["bytes"])')"
	bloomery seal seen; bloomery report -o page.html --history history; read_page page.html
	holds 'j["planned"] == {}' < page.json
}

a_history_has_a_line_for_each_change() {
	bloomery create a -n 1000; bloomery create 'b c' -n 1000
	for i in 1 2 3; do
		bloomery watch --history history
		same "$(wc -l < history)" $((i + 1))
		bloomery watch --history history --prometheus metrics; grep -q filter_keys metrics
		same "$(wc -l < history)" $((i + 1))
		echo $i | bloomery add 'b c'
	done
	same "$(grep -c ' b c$' history)" 3; same "$(grep -c ' a$' history)" 1
	same "$(awk '/ b c$/ { print $3 }' history | xargs)" '0 1 2'
	# one that did not change has a line a day, so that it is known when keys came
	moment a 90000 0 0 > history; moment 'b c' 80000 3 0 >> history
	bloomery watch --history history; same "$(grep -c ' a$' history)" 2; same "$(grep -c ' b c$' history)" 1
	exits 64 bloomery watch; says --history
	exits 2 bloomery watch --history .; exits 2 bloomery watch --history none/history; says none/history
	ln -s history link; exits 2 bloomery watch --history link; says 'link: is a device, a pipe or a link'
	exits 64 bloomery report -o page.html --history -
}

a_history_that_is_no_file_is_refused() {
	few; mkfifo fifo; touch real; ln -s real link
	for f in fifo link /dev/zero; do exits 2 bloomery report -o page.html --history $f; says "$f: is a device, a pipe or a link"; done
	exits 2 bloomery report -o page.html --history .; says '.: Is a directory'
	[ ! -e page.html ]; bloomery watch --history history; cp history before
	for f in history ./history; do
		exits 64 bloomery report -o $f --history history; says 'would replace the history'
		exits 64 bloomery watch --prometheus $f --history history; says 'would replace the history'
	done
	cmp history before
}

a_history_with_nuls_is_read_behind_them() {
	bloomery create a -n 10; bloomery watch --history history
	{ head -c 4096 /dev/zero; cat history; } > damaged		# its first line is lost
	{ cat history; head -c 4096 /dev/zero; } > torn
	bloomery create b -n 10
	for f in damaged torn; do
		for i in 1 2 3; do bloomery watch --history $f; done
		same "$(grep -ac '^[0-9]* .* b$' $f)" 1
	done
	same "$(grep -ac ' a$' damaged)" 2; same "$(grep -ac ' a$' torn)" 1
}

a_long_history_keeps_its_first_and_last_lines() {
	bloomery create a -n 1000; bloomery create b -n 1000
	uuid=$(bloomery info a --json | json 'j["uuid"]')
	for i in {1..128}; do echo "$((1700000000 + i)) $uuid $i 1000 0.001 20000 a"; done > history
	chmod 600 history; cp history before
	bloomery watch --history history
	awk '/ a$/' history > a; same "$(wc -l < a)" 65
	same "$(sed -n 1p a)" "$(sed -n 1p before)"; same "$(sed -n 2p a)" "$(sed -n 3p before)"; same "$(awk 'END { print $3 }' a)" 0
	same "$(grep -c ' b$' history)" 1; same "$(stat -c %a history)" 600
	same "$(ls | grep -c history)" 1
}

looks_of_several_processes_leave_whole_lines() {
	local pids=() i
	for i in {1..20}; do bloomery create "a-name-that-is-long-enough-$i" -n 10; done
	for i in 1 2 3 4; do bloomery watch --history history & pids+=($!); done
	for i in "${pids[@]}"; do wait "$i"; done
	same "$(grep -cE '^[0-9]+ [0-9a-f-]{36} 0 10 0 [0-9]+ a-name-that-is-long-enough-[0-9]+$' history)" 20
	same "$(wc -l < history)" 20
}

filters_of_one_template_are_compared() {
	few
	bloomery report -o page.html; read_page page.html
	bloomery compare seen other --json > c
	cat c page.json | holds 'len(all[1]["shared"]) == 1 and len(all[1]["shared"][0]) == 2'
	cat c page.json | holds 'all[1]["shared"][0][0]["name"] == "seen" and all[1]["shared"][0][0]["cells"][2].replace(" k", "") == "%.3g" % (j["union"] / 1000)'
	cat c page.json | holds 'all[1]["shared"][0][1]["cells"][1] == "%.3g%.0f %%" % (j["intersection"], 100 * j["jaccard"])'
}

damage_is_among_the_findings_and_on_the_map() {
	few
	seq 40000 | bloomery build large -n 40000 --kind classic; bloomery seal large
	file=$(bloomery info large --json | json 'j["path"]')
	python3 -c '
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(40000)
    f.write(b"\xff" * 1024)' "$file"
	bloomery report -o page.html; read_page page.html
	holds '"large" in j["findings"] and "large" in j["cards"] and j["cards"]["large"]["lines"].count("x") == 1' < page.json
	holds 'list(j["cards"])[0] == "large" and "! see findings" in j["filters"]["large"][0] and "! see findings" not in j["filters"]["seen"][0]' < page.json
	holds '"are far from the others" in j["cards"]["large"]["text"] and "are far from the others" not in j["cards"]["seen"]["text"]' < page.json
	rm "$(bloomery info seen --json | json 'j["path"]')"
	bloomery report -o page.html; read_page page.html
	holds 'j["tiles"]["cannot be read"] == "! 1" and "cannot be read" in j["filters"]["seen"][0] and set(list(j["cards"])[:2]) == {"large", "seen"}' < page.json
}

the_page_is_replaced_in_one_step() {
	bloomery create a -n 10
	exits 64 bloomery report; says '-o FILE'
	exits 2 bloomery report -o page.html --store ./none
	mkfifo fifo; exits 2 bloomery report -o fifo; says 'fifo: is a device, a pipe or a link'
	exits 2 bloomery report -o none/page.html; says none/page.html
	(umask 077; bloomery report -o page.html); same "$(stat -c %a page.html)" 600
	exec 3< page.html; cp page.html first
	bloomery create b -n 10; bloomery report -o page.html
	cmp first - <&3; not cmp -s first page.html
	same "$(ls page.html*)" page.html
	bloomery report -o - > out; read_page out
	bloomery drop a b; bloomery report -o page.html; read_page page.html; holds 'j["filters"] == {} and j["cards"] == {}' < page.json
}

the_page_of_2000_filters_is_less_than_2_mb() {
	for i in {1001..3000}; do echo "crawl-of-2026-11-26-$i"; done > names
	bloomery create --names-from names -n 1000 -p 0.001
	bloomery ls --json | python3 -c '
import json, sys, time
now = int(time.time())
for line in sys.stdin:
    f = json.loads(line)
    for i in range(30):
        print(now - 86400 * (30 - i), f["uuid"], 33 * i, 1000, "%.9g" % (0.001 * (i / 30) ** 9), f["bytes"], f["name"])' > history
	bloomery report -o page.html --history history
	[ "$(stat -c %s page.html)" -lt 2000000 ]
	read_page page.html
	holds 'len(j["filters"]) == 2000 and len(j["cards"]) == 12' < page.json
}

a_browser_shows_it_without_errors() {
	command -v chromium > /dev/null || { echo '# SKIP chromium is not installed; `.ci/run --long` installs it'; return 0; }
	few
	bloomery label seen 'note=</script><script>document.title = "taken"</script>'
	bloomery label seen 'more=<img src="x.png" onerror="document.title = 1">'
	bloomery watch --history history; bloomery add seen --key new; sleep 1; bloomery report -o page.html --history history
	python3 "${0%/*}/in_browser.py" --width 400 page.html 'document.title.startsWith("Bloomery: /")' \
		'[document.querySelectorAll("#all tbody tr").length, document.querySelectorAll("svg").length > 20, document.querySelector("#tools").hidden]' \
		'document.documentElement.scrollWidth' \
		'(document.querySelectorAll("#all thead button")[2].click(), document.querySelector("#all tbody bdi").textContent)' \
		'(document.getElementById("find").value = "BEYOND", document.getElementById("find").dispatchEvent(new Event("input")), document.getElementById("shown").textContent)' \
		'getComputedStyle(document.body).backgroundColor' > seen
	python3 "${0%/*}/in_browser.py" --dark page.html 'getComputedStyle(document.body).backgroundColor' >> seen
	same "$(< seen)" $'true\n[6, true, false]\n400\n"grows"\n"1 of 6."\n"rgb(255, 255, 255)"\n"rgb(21, 21, 21)"'
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || return 0
	# the test would see an error, a script of others, and a request
	sed 's|</h1>|</h1><script>throw new Error("seen")</script><img src="x.png"/>|; s|<meta http-equiv[^>]*>||' page.html > bad.html
	python3 "${0%/*}/in_browser.py" bad.html > seen; grep -q '^console: Error: seen' seen; grep -q '^request: .*x.png' seen
	sed 's|</h1>|</h1><script>document.title = "taken"</script><img src="x.png"/>|' page.html > bad.html
	python3 "${0%/*}/in_browser.py" bad.html document.title > seen
	same "$(grep -c '^console: .*Content Security Policy' seen)" 2; not grep -q '"taken"' seen
}

prove_all

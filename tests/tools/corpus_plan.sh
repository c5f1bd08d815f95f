#!/bin/bash
# corpus_plan.sh - bloomery corpus plan against counts, and the report of a run
. "${0%/*}/tap.sh"
read_page=$(cd "${0%/*}" && pwd)/report_page.py

# FROM TO DIFFERENT: documents of two paragraphs, with one of this many first paragraphs and a second one of its own
documents() { seq "$1" "$2" | awk -v m="$3" '{ printf "{\"id\":\"%d\",\"text\":\"one of many %d\\nno other is like %d\"}\n", $1, $1 % m, $1 }'; }

a_sample_of_all_counts_all() {
	documents 1 6000 100 > a; documents 6001 10000 100 | gzip > b.gz
	bloomery corpus plan --json a b.gz > plan; cat plan
	holds 'j["documents"] == j["units"] == j["keys"] == j["sample_keys"] == 10000' < plan
	holds 'j["files"] == j["sample_files"] == 2 and j["bytes"] == j["sample_bytes"]' < plan
	holds 'abs(j["distinct"] / 10000 - 1) < 0.05 and j["distinct"] == j["distinct_most"]' < plan
	bloomery corpus plan --by paragraph --json a b.gz > plan; cat plan
	holds 'j["documents"] == 10000 and j["keys"] == 20000' < plan
	holds 'abs(j["distinct"] / 10100 - 1) < 0.05' < plan
	bloomery corpus plan --by paragraph a b.gz > text
	grep -x 'paragraphs  20,000 that have keys' text
	documents 1 9 1 | bloomery corpus plan --json > plan; holds 'j["documents"] == 9 and j["distinct"] == 9' < plan
}

a_sample_is_multiplied_by_the_size_of_the_files() {
	documents 100000 139999 100 > all; split -n l/4 all part
	bloomery corpus plan --by paragraph --sample 1Mi --json part* > plan; cat plan
	holds 'j["sample_bytes"] <= j["bytes"] / 2 and j["files"] == 4' < plan
	holds 'abs(j["documents"] / 40000 - 1) < 0.1 and abs(j["keys"] / 80000 - 1) < 0.1' < plan
	holds 'abs(j["distinct"] / 40100 - 1) < 0.1 and j["distinct"] <= j["distinct_most"]' < plan
	bloomery corpus plan --by paragraph --sample 1Mi --json part* | diff plan - > differ || [ "$(grep -c '^[<>]' differ)" = 2 ]
}

keys_that_do_not_become_more_are_not_multiplied() {
	documents 100000 139999 100 | sed 's/no other is like [0-9]*/the same/' > all
	bloomery corpus plan --by paragraph --sample 256Ki --json all > plan; cat plan
	holds 'abs(j["keys"] / 80000 - 1) < 0.1 and abs(j["distinct"] - 101) < 5' < plan
	holds 'j["distinct_most"] > 150' < plan
}

the_filter_is_the_one_that_create_makes() {
	documents 1 5000 100 > a
	bloomery corpus plan -p 0.001 --json a > plan; cat plan
	bloomery create ./f -n "$(json 'j["capacity"]' < plan)" -p 0.001
	same "$(stat -c %s f)" "$(json 'j["filter_bytes"]' < plan)"
	bloomery corpus plan -p 0.001 --kind classic --json a > classic
	holds 'j["kind"] == "classic"' < classic
	line=$(bloomery corpus plan --by-mistake 1e-9 a | grep '^filter')
	# shellcheck disable=SC2086
	bloomery create ./g --seed 7 ${line##*--create}
	bloomery corpus dedup -F ./g a > out; cmp a out
}

n_grams_allow_the_rate_for_the_share() {
	# five n-grams, four of which remove the paragraph
	seq 500 | awk '{ printf "{\"text\":\""; for (i = 0; i < 17; i++) printf "w%d ", $1 * 17 + i; print "\"}" }' > five
	bloomery corpus plan --by ngram --json --by-mistake 0.001 five > plan; cat plan
	holds 'j["keys"] == 2500 and j["by_mistake"] <= 0.001' < plan
	holds '(lambda p: abs(5 * p**4 * (1 - p) + p**5 - 0.001) < 1e-6)(j["rate"])' < plan
	bloomery corpus plan --by ngram --json -p 0.2 five > plan
	holds 'abs(j["by_mistake"] - 0.00672) < 1e-9 and j["rate"] == 0.2' < plan
	bloomery corpus plan --by ngram --threshold 1 --json -p 0.2 five > plan
	holds 'abs(j["by_mistake"] - 0.2**5) < 1e-9' < plan
	echo '{"text":"one key alone"}' | bloomery corpus plan --by ngram --json --by-mistake 0.001 > plan
	holds 'abs(j["rate"] - 0.001) < 1e-9' < plan
}

a_warning_comes_before_memory_or_disk_will_not_do() {
	documents 1 4000 4000 > big
	bloomery corpus plan -F ./f -o out big 2> said > text; [ ! -s said ]
	# with holes: as much as no machine has
	truncate -s 8T big 2> /dev/null || { echo '# SKIP no file of 8 TiB can be made here'; return; }
	bloomery corpus plan -F ./f -o out -p 1e-9 --sample 100Ki big 2> said > text; cat said text
	grep -q 'warning: the filter takes .* of memory' said
	grep -q 'warning: the filter takes .* its file system has' said
	grep -q 'warning: -o out: the files have 8.0* TiB' said
	bloomery corpus plan -q -F ./f -p 1e-9 --sample 100Ki big 2> said > text; [ ! -s said ]
}

a_plan_without_keys_or_with_a_size_is_refused() {
	documents 1 10 1 > a
	exits 2 bloomery corpus plan --by ngram --min-tokens 100 a; says 'has no keys'
	exits 2 bloomery corpus plan --text /none a; says 'line 1'
	exits 64 bloomery corpus plan -n 10 a; says '-n and -m'
	exits 64 bloomery corpus plan --report r a; says '--json'
	exits 2 bloomery corpus plan nosuch; says nosuch
}

the_report_has_what_was_done_with_each_file() {
	documents 1 300 10 > a; documents 201 500 10 > b; echo broken >> b; gzip -k b
	bloomery corpus dedup -F ./f --create -n 10k -p 1e-9 --skip-bad -o out --report report a b.gz > /dev/null 2>&1; cat report
	holds 'j["verb"] == "dedup" and j["by"] == "document"' < report
	holds '[f["file"] for f in j["files"]] == ["a", "b.gz"]' < report
	holds '[f["documents_removed"] for f in j["files"]] == [0, 100]' < report
	holds '[f["documents_kept"] for f in j["files"]] == [300, 200]' < report
	holds '[f["lines_bad"] for f in j["files"]] == [0, 1]' < report
	holds 'j["total"]["documents"] == 600 and j["total"]["documents_removed"] == 100' < report
	holds "j['files'][0]['bytes'] == j['files'][0]['bytes_written'] == $(stat -c %s a)" < report
	holds "j['files'][1]['bytes_written'] == $(zcat out/b.gz | wc -c)" < report
	holds '0 <= j["total"]["by_mistake"] < 1 and j["total"]["by_mistake_error"] >= 0' < report
	printf '{"text":"%s"}\n' gone '\/\ngone\nend' > d; bloomery corpus dedup -F ./g --create -n 10 -p 1e-9 --seed 7 --by paragraph -o out --report short d > /dev/null
	holds "j['total']['bytes_written'] == $(stat -c %s out/d) < j['total']['bytes']" < short
	cp b c
	bloomery corpus dedup -F ./f --skip-bad -o out --report report a b.gz c > /dev/null 2>&1
	holds '[f["finished_before"] for f in j["files"]] == [True, True, False]' < report
	holds 'j["files"][2]["documents_kept"] == 0 and j["total"]["files_finished_before"] == 2' < report
	[ ! -e report.part ]
	exits 2 bloomery corpus count --report nosuch/report a; says nosuch/report
}

# All documents differ, so each one that is removed is a mistake. The filter has a seed, so these are the same in each run.
text_removed_by_mistake_is_as_expected() {
	documents 1 12000 1000000 > a; documents 12001 24000 1000000 > b
	for by in document paragraph; do
		size=24k; [ $by = document ] || size=48k
		for out in '' "-o out-$by"; do
			rm -f f f.claims
			# shellcheck disable=SC2086
			bloomery corpus dedup -F ./f --create -n $size -p 0.03 --seed 7 -q --by $by --report report $out a b > kept; cat report
			holds 'j["total"]["units_removed"] > 80 and abs(j["total"]["units_removed"] - j["total"]["by_mistake"]) < 4 * j["total"]["by_mistake_error"]' < report
			holds 'j["files"][1]["by_mistake"] > j["files"][0]["by_mistake"] > 0' < report
		done
	done
}

# Another process adds most keys between two batches of this one, which reads a pipe.
mistakes_are_expected_by_the_keys_of_all_processes() {
	documents 100000 119999 1000000 > other; mkfifo pipe; bloomery create ./f -n 23k -p 0.05 --seed 8
	bloomery corpus dedup -F ./f -q --report report pipe > kept & exec 9> pipe
	documents 1 1000 1000000 >&9
	until bloomery info ./f --json > now; holds 'j["keys"] >= 100' < now; do kill -0 $!; done
	bloomery corpus dedup -F ./f -q other > rest
	documents 1001 2500 1000000 >&9; exec 9>&-; wait $!; cat report
	holds 'j["total"]["units"] == 2500 and j["total"]["units_removed"] > 40' < report
	holds 'abs(j["total"]["units_removed"] - j["total"]["by_mistake"]) < 4 * j["total"]["by_mistake_error"]' < report
}

a_page_has_what_the_report_has() {
	documents 1 300 10 > '<a>&"'; documents 201 500 10 > b; echo broken >> b
	bloomery corpus dedup -F ./f --create -n 10k -p 1e-9 --skip-bad -o out --report r.html '<a>&"' > /dev/null 2>&1
	bloomery corpus dedup -F ./f --skip-bad -o out --report r.html '<a>&"' b > /dev/null 2>&1
	python3 "$read_page" r.html > page; cat page
	holds 'j["title"] == "Bloomery: dedup" and "by documents" in j["text"]' < page
	holds 'list(j["filters"]) == ["<a>&\"", "b"] and j["filters"]["<a>&\""][1] == "finished before"' < page
	holds 'j["filters"]["b"][1:8] == ["done", "300", "200", "100", "0", "100", "33.33 %"]' < page
	holds 'j["filters"]["b"][-1] == "1" and j["tiles"]["bad lines"] == "! 1"' < page
	holds '(j["tiles"]["documents"], j["tiles"]["kept"], j["tiles"]["removed"]) == ("300", "200", "100")' < page
	bloomery corpus count --by ngram --report r.html b --skip-bad > /dev/null; python3 "$read_page" r.html > page
	holds '"removed by mistake, expected" not in j["tiles"] and "Filters" not in j["text"]' < page
}

if [ "${JSON:?must be yes or no}" = no ]; then
	echo '1..0 # SKIP this build has no parser of JSON'
	exit
fi
prove_all

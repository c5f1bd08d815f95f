#!/bin/bash
# corpus.sh - documents, paragraphs and n-grams that were seen before, against an exact reference by Python
. "${0%/*}/tap.sh"
reference=$(cd "${0%/*}" && pwd)/corpus_reference.py

# Filters have a seed, so that a false positive comes in every run or in none.
new='--create -n 400k -p 1e-9 --seed 7 -q'
documents=1000
case ${SANITIZED:+0}${BLOOMERY_TEST_SCALE:-1} in
full) documents=3000 ;;
0*) documents=200 ;;
esac

options_of()
{
	case $1 in
	document) echo '' ;;
	url) echo '--key /metadata/url' ;;
	paragraph) echo '--by paragraph' ;;
	ngram-* | all-ngram-*) echo "--by ngram --unit ${1##*-} --ngram 5 --stride 2" ;;
	esac
}

# Skips the test where the program was built without a parser of JSON.
no_json()
{
	echo '{"text":"a"}' > one.jsonl
	bloomery corpus count --by ngram one.jsonl > no-json 2>&1 && return 1
	echo "# SKIP $(< no-json)"
}

# What the test kills is the program itself, so it is called without a function.
dedup="corpus dedup -F ./filter $new -o out"

one_process_writes_what_the_reference_writes() {
	no_json && return
	local new=$new count=$((2 * documents))
	if [ "${BLOOMERY_TEST_SCALE:-}" = full ]; then count=50000 new=${new/400k/4m}; fi
	python3 -S "$reference" make $count a.jsonl b.jsonl c.jsonl
	for mode in document url paragraph ngram-paragraph ngram-document ngram-both; do
		python3 -S "$reference" expect $mode want-$mode a.jsonl b.jsonl c.jsonl
		# shellcheck disable=SC2046
		bloomery corpus dedup -F ./$mode $new $(options_of $mode) -o got-$mode a.jsonl b.jsonl c.jsonl > /dev/null
		diff -r want-$mode got-$mode
	done
}

of_equal_documents_one_stays_whoever_reads_them() {
	no_json && return
	python3 -S "$reference" make $documents 1.jsonl 2.jsonl 3.jsonl 4.jsonl 5.jsonl 6.jsonl 7.jsonl 8.jsonl
	for mode in url paragraph ngram-document; do
		for processes in 2 4; do
			rm -rf filter filter.claims out; pids=''
			for ((i = 0; i < processes; i++)); do
				# shellcheck disable=SC2046
				"$BLOOMERY" $dedup $(options_of $mode) [1-8].jsonl > /dev/null & pids+=" $!"
			done
			for pid in $pids; do wait $pid; done
			python3 -S "$reference" one-copy $mode out [1-8].jsonl
			same "$(ls -A out | tr '\n' ' ')" '1.jsonl 2.jsonl 3.jsonl 4.jsonl 5.jsonl 6.jsonl 7.jsonl 8.jsonl '
		done
	done
}

# Is there another round? On a busy machine a process can finish before it is killed, so there are more until enough were killed.
another_round()
{
	local enough=1
	if [ "${BLOOMERY_TEST_SCALE:-}" = full ]; then enough=200; fi
	((round < rounds)) || { ((round < 50 * rounds)) && [ "$(grep -c killed "$1")" -lt $enough ]; }
}

# One process decides in the order of its files, so that what it writes is known.
a_killed_and_resumed_run_writes_the_same_output() {
	no_json && return
	rounds=4 seed=1
	if [ "${BLOOMERY_TEST_SCALE:-}" = full ]; then rounds=70; fi
	python3 -S "$reference" make $((2 * documents)) a.jsonl b.jsonl
	for ((round = 0; 1; round++)); do
		another_round killed || break
		modes=(ngram-document paragraph ngram-both url) mode=${modes[round % 4]}
		[ -d want-$mode ] || python3 -S "$reference" expect $mode want-$mode a.jsonl b.jsonl
		rm -rf filter filter.claims out
		for journal in a a b; do
			seed=$((seed * 1103515245 + 12345 & 0x7fffffff))
			# shellcheck disable=SC2046
			python3 -S "$reference" kill out/.$journal.jsonl.claims $((seed / 65536 % documents)) "$BLOOMERY" $dedup $(options_of $mode) [ab].jsonl
		done >> killed
		# shellcheck disable=SC2046
		"$BLOOMERY" $dedup $(options_of $mode) [ab].jsonl > /dev/null
		diff -r want-$mode out
	done
	grep -q killed killed
}

killed_processes_lose_and_double_no_document() {
	no_json && return
	rounds=3 seed=2
	if [ "${BLOOMERY_TEST_SCALE:-}" = full ]; then rounds=60; fi
	python3 -S "$reference" make $documents 1.jsonl 2.jsonl 3.jsonl 4.jsonl
	for ((round = 0; 1; round++)); do
		another_round log || break
		modes=(ngram-document paragraph url) mode=${modes[round % 3]}
		rm -rf filter filter.claims out
		for end in kill kill finish; do
			pids=''
			for i in 1 2 3; do
				seed=$((seed * 1103515245 + 12345 & 0x7fffffff)) units=$((seed / 65536 % (documents / 4)))
				[ $end != finish ] || units=1000000000
				# shellcheck disable=SC2046
				python3 -S "$reference" kill out/.$i.jsonl.claims $units "$BLOOMERY" $dedup $(options_of $mode) [1-4].jsonl >> log & pids+=" $!"
			done
			for pid in $pids; do wait $pid; done
		done
		python3 -S "$reference" one-copy $mode out [1-4].jsonl
		same "$(ls -A out | tr '\n' ' ')" '1.jsonl 2.jsonl 3.jsonl 4.jsonl '
	done
	grep -q killed log
}

# What a power cut leaves at the worst: the journals as they were, and none of the keys that went into the filter.
journals_add_keys_lost_in_a_power_cut_again() {
	no_json && return
	python3 -S "$reference" make $((2 * documents)) a.jsonl b.jsonl
	mkdir bad; { cat b.jsonl; echo bad; } > bad/b.jsonl
	for mode in url paragraph ngram-both ngram-document; do
		python3 -S "$reference" expect $mode want-$mode a.jsonl b.jsonl
		rm -rf filter filter.claims out
		bloomery create ./filter -n 400k -p 1e-9 --seed 7; cp filter empty
		# the first file is finished, the second one ends in its middle
		# shellcheck disable=SC2046
		exits 2 bloomery $dedup $(options_of $mode) a.jsonl bad/b.jsonl
		same "$(echo out/* out/.*.claims)" 'out/a.jsonl out/.a.jsonl.claims out/.b.jsonl.claims'
		cp empty filter; python3 -S "$reference" reboot out/.*.claims filter.claims
		# shellcheck disable=SC2046
		bloomery ${dedup/ -q/} $(options_of $mode) --skip-bad a.jsonl bad/b.jsonl > o 2> said
		same "$(grep -c 'started anew' said)" 2
		diff -r want-$mode out
	done
}

# The last decision before a power cut can be on the disk in part: also with the first answers of a document only.
answers_that_a_power_cut_took_are_given_anew() {
	no_json && return
	printf '{"text":"%s"}\n' 'one a\ntwo b\nthree c' 'five' > a.jsonl; echo bad > bad
	printf '{"text":"%s"}\n' 'one a\nfour d' 'five' 'two b\nthree c' > b.jsonl
	(cat a.jsonl; echo '{"text":"four d"}') > want
	bloomery create ./empty -n 1k -p 1e-9 --seed 7
	for unit in paragraph both; do
		keys='--by paragraph'; [ $unit = paragraph ] || keys="--by ngram --ngram 2 --unit $unit"
		for answers in 0 1 2 3 4; do
			rm -rf filter.claims out; cp empty filter
			# shellcheck disable=SC2086
			exits 2 bloomery $dedup $keys a.jsonl bad
			python3 -S "$reference" cut out/.a.jsonl.claims $answers
			cp empty filter; rm out/a.jsonl
			# shellcheck disable=SC2086
			bloomery $dedup $keys a.jsonl b.jsonl > /dev/null
			cat out/*.jsonl | cmp - want
		done
	done
}

# The filter is sparse and has no page for the keys, and its file of decisions is there.
dedup_on_a_full_disk()
{
	set -e
	mount -t tmpfs -o size=1m none disk
	"$BLOOMERY" create disk/f -n 20k -p 1e-9 --seed 7 --sparse
	echo '{"text":"first"}' | "$BLOOMERY" corpus dedup -F disk/f > first
	cat /dev/zero > disk/filler 2> err || true
	"$BLOOMERY" corpus dedup -F disk/f -q -o out in > counts 2> err && exit 1
	grep -q 'disk/f: I/O error' err
	rm disk/filler
	"$BLOOMERY" corpus dedup -F disk/f -q -o out in > counts
}

a_filter_without_room_removes_no_document() {
	no_json && return
	mkdir disk
	[ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none disk 2> /dev/null || { echo '# SKIP root with mounts is needed'; return; }
	seq -f '{"text":"document %g"}' 300 > in
	export -f dedup_on_a_full_disk
	unshare -m bash -c dedup_on_a_full_disk; cmp in out/in
}

# A text may be longer than what is written at once.
a_long_text_loses_the_paragraphs_of_short_ones() {
	no_json && return
	for written in '\"' '\u0022'; do
		rm -f f f.claims
		{ echo '{"text":"gone"}'; printf '{"text":"'; seq -f "$written %.0f\\ngone\\n" 40000 | tr -d '\n'; echo 'end","n":1}'; } > in
		bloomery corpus dedup -F ./f $new --by paragraph in > out
		sed 's/\\ngone//g; s/\\u0022/\\"/g' in | cmp - out
	done
}

a_document_passes_through_byte_for_byte() {
	no_json && return
	printf '%s\n' ' { "text" : "caf\u00e9 \/ \ud83d\ude00" , "x":1.0e5,"y":{ } }  ' '' '{"text":"a\nb","z":[ ]}' > in
	printf '{"text":"last, without an end"}' >> in
	bloomery corpus dedup -F ./f $new in > out; (sed 2d in; echo) | cmp - out
	printf '%s\n' '{"a":1,"text":"b\nnew \"q\" \\ \u0001\u00e9\nb","c":2}' | bloomery corpus dedup -F ./g $new --by paragraph > out
	same "$(< out)" '{"a":1,"text":"b\nnew \"q\" \\ \u0001é\n","c":2}'
}

# Many such lines are written at once, up to one that is left out, or that is blank.
lines_that_lose_nothing_are_written_as_they_were() {
	no_json && return
	seq -f '{ "text":"some text of its own, %.0f\u00e9" } ' 3000 > lines; mkdir z
	{ cat lines; sed 5q lines; echo; seq -f '{"text":"%.0f"}' 3000; } > in
	{ cat lines; seq -f '{"text":"%.0f"}' 3000; } > want
	gzip -k in; zstd -q in -o z/in.zst
	bloomery corpus dedup -F ./f1 $new in | cmp - want
	bloomery corpus dedup -F ./f2 $new -o out in > /dev/null; cmp out/in want
	bloomery corpus dedup -F ./f3 $new -o out in.gz > /dev/null; zcat out/in.gz | cmp - want
	bloomery corpus dedup -F ./f4 $new -o out z/in.zst > /dev/null; zstd -dcq out/in.zst | cmp - want
}

# A text without escapes but the shortest is copied as it was written, another one is written anew.
a_shortened_text_is_escaped_as_briefly_as_possible() {
	no_json && return
	printf '%s\n' '{"text":"gone"}' '{"text":"\"\\ \b\f\r\t/\ngone\nthe \"end\"\n\u007f"}' '{"text":"\/ \u0022\ngone\nend"}' \
		'{"text":"gone\nof more than sixteen bytes, \"quoted\" and \\, with a line of \u0000 and é\ngone"}' '{"text":"gone\n\"a\"\ngone\n\"b\"\ngone"}' > in
	bloomery corpus dedup -F ./f $new --by paragraph in > out
	printf '%s\n' '{"text":"gone"}' "$(printf '{"text":"\\"\\\\ \\b\\f\\r\\t/\\nthe \\"end\\"\\n\x7f"}')" '{"text":"/ \"\nend"}' \
		'{"text":"of more than sixteen bytes, \"quoted\" and \\, with a line of \u0000 and é\n"}' '{"text":"\"a\"\n\"b\"\n"}' | cmp - out
}

# To standard output a filter is asked and changed in one step, unless its kind forgets or cannot claim.
standard_output_gets_what_a_file_gets_with_each_kind() {
	no_json && return
	python3 -S "$reference" make 60 a.jsonl
	for kind in $(bloomery kinds --json | python3 -c 'import json, sys; print(*(k["name"] for k in map(json.loads, sys.stdin) if "add" in k["can"]))'); do
		options="--by paragraph --create -n 10k --kind $kind --seed 7 -q"
		# shellcheck disable=SC2086
		bloomery corpus dedup -F ./$kind.1 $options a.jsonl > kept 2> err || { grep -q "takes 0$\|takes none$" err; continue; }	# no seed, no hashes
		# shellcheck disable=SC2086
		bloomery corpus dedup -F ./$kind.2 $options -o $kind a.jsonl > log
		cmp $kind/a.jsonl kept
	done
	[ -d blocked ]; [ -d scalable ]; [ -d window ]
}

packed_files_are_read_and_written() {
	no_json && return
	python3 -S "$reference" make 300 a.jsonl
	gzip -k a.jsonl; mkdir z; zstd -q a.jsonl -o z/a.jsonl.zst
	bloomery corpus dedup -F ./f1 $new a.jsonl > want
	bloomery corpus dedup -F ./f2 $new -o out a.jsonl.gz > /dev/null; zcat out/a.jsonl.gz | cmp - want
	bloomery corpus dedup -F ./f3 $new -o out z/a.jsonl.zst > /dev/null; zstd -dcq out/a.jsonl.zst | cmp - want
	bloomery corpus dedup -F ./f4 $new < a.jsonl.gz | cmp - want
}

# As dolma's test of documents by URL has it: the length of the key in bytes, and nothing for a new one.
attributes_of_documents_are_those_of_dolma() {
	no_json && return
	mkdir -p in/documents
	printf '{"id":"%s","text":"t","metadata":{"url":"%s"}}\n' a http://x/ä b http://y/ c http://x/ä > in/documents/0.json
	gzip in/documents/0.json
	bloomery corpus dedup -F ./f $new --key /metadata/url --attributes by_url --attribute dup in/documents/0.json.gz > /dev/null
	printf '%s\n' '{"attributes":{},"id":"a"}' '{"attributes":{},"id":"b"}' '{"attributes":{"dup":[[0,11,1]]},"id":"c"}' > want
	zcat in/attributes/by_url/0.json.gz | cmp - want
}

attributes_of_paragraphs_are_those_of_dolma_or_right() {
	no_json && return
	mkdir -p in/documents
	printf '%s\n' '{"id":1,"text":"one\n\ntwo"}' '{"text":"ü two\ntwo\n\nonly","id":"x"}' '{"id":"e","text":""}' '{"id":"u","text":"äöü\nonly"}' > in/documents/a.jsonl
	bloomery corpus dedup -F ./f $new --by paragraph --min-tokens 0 --attributes p in/documents/a.jsonl > /dev/null
	printf '%s\n' '{"attributes":{"p":[]},"id":1}' '{"attributes":{"p":[[6,10,1],[10,11,1]]},"id":"x"}' '{"attributes":{},"id":"e"}' \
		'{"attributes":{"p":[[4,8,1]]},"id":"u"}' > want
	cmp in/attributes/p/a.jsonl want
	bloomery corpus dedup -F ./g $new --by paragraph --dolma-bug-compatible --attributes q in/documents/a.jsonl > /dev/null
	# the offset of the text's end is compared with its bytes, of which "ü two..." has one more than characters
	sed 's/"p"/"q"/; s/\[4,8,1\]/[4,9,1]/' want | cmp - in/attributes/q/a.jsonl
	bloomery corpus dedup -F ./h $new --by paragraph --attributes r in/documents/a.jsonl > /dev/null
	sed -n 2p in/attributes/r/a.jsonl > line; same "$(< line)" '{"attributes":{"r":[[6,10,1]]},"id":"x"}'
}

# n-grams of 6 with stride 3: dolma takes those at 0, 1, 4, 7; the others are at 0, 3, 6.
attributes_of_ngrams_are_those_of_dolma_or_right() {
	no_json && return
	mkdir -p in/documents
	printf '%s\n' '{"id":"1","text":"a b c d e f g h i j k l"}' '{"id":"2","text":"x b c d e f g h i j k l\nshort one\nshort one"}' > in/documents/a.jsonl
	ngrams='--by ngram --ngram 6 --stride 3 --threshold 0.5'
	bloomery corpus dedup -F ./f $new $ngrams --dolma-bug-compatible --attributes n in/documents/a.jsonl > /dev/null
	sed -n 2p in/attributes/n/a.jsonl > line
	# 2 of 3 are seen, and the share is of 32 bits; a short paragraph is compared whole
	same "$(< line)" '{"attributes":{"n":[[0,24,0.6666666865348816],[34,43,1.0]]},"id":"2"}'
	bloomery corpus dedup -F ./g $new $ngrams --attributes m in/documents/a.jsonl > /dev/null
	sed -n 2p in/attributes/m/a.jsonl > line	# 2 of 3
	same "$(< line)" '{"attributes":{"m":[[0,24,0.6666666666666666],[34,43,1.0]]},"id":"2"}'
}

# The documents and the expected files of dolma's own tests, whose folder tests/data is $VECTORS/dolma. Its file for n-grams lacks the
# spans whose share is the threshold, which its program writes, and its test compares no more spans than the shorter list has.
published_cases_of_dolma_give_its_spans() {
	no_json && return
	[ -d "${VECTORS:-/nonexistent}/dolma" ] || { echo '# SKIP no data of dolma in the folder of -Dvectors'; return; }
	mkdir -p in/documents; cp "$VECTORS/dolma/provided/deduper/documents/000.json.gz" in/documents
	for case in by-url paragraphs paragraph-ngrams; do
		case $case in
		by-url) options='--attribute bff_duplicate_url --key /metadata/url' ;;
		paragraphs) options='--attribute bff_duplicate_paragraph_spans --by paragraph' ;;
		*) options='--attribute bff_duplicate_paragraph_spans --by ngram --ngram 6 --stride 3 --threshold 0.5' ;;
		esac
		# shellcheck disable=SC2086
		bloomery corpus dedup -F ./$case $new --dolma-bug-compatible --attributes $case $options in/documents/000.json.gz > log
		{ zcat "$VECTORS/dolma/expected/dedupe-$case.json.gz"; zcat in/attributes/$case/000.json.gz; } > both
		holds 'len(all) == 20 and [d["id"] for d in all[:10]] == [d["id"] for d in all[10:]]' < both
		holds '[{k: [s for s in v if s[2] != 0.5] for k, v in d["attributes"].items()} for d in all[10:]] == [d["attributes"] for d in all[:10]]' < both
		[ $case = paragraph-ngrams ] || holds 'all[10:] == all[:10]' < both
	done
}

a_repeated_ngram_does_not_match_itself() {
	no_json && return
	echo '{"text":"a b a b a b a b a b"}' > in
	bloomery corpus dedup -F ./f $new --by ngram --ngram 2 in | cmp - in
	bloomery corpus dedup -F ./g $new --by ngram --ngram 2 --threshold 0.7 --dolma-bug-compatible --annotate in > out
	holds 'j["duplicate_spans"] == [[0, 19, 0.7777777910232544]]' < out	# 7 of 9
}

a_run_ended_by_a_bad_line_resumes_with_skipping() {
	no_json && return
	# the bad line is in a later block than the first documents
	{ seq -f '{"text":"document %06g"}' 20000; echo bad; echo '{"text":"last"}'; } > in
	exits 2 bloomery corpus dedup -F ./f $new -o out in; says 'in: line 20001: is not JSON'; [ -s out/.in.claims ]
	bloomery corpus dedup -F ./f --skip-bad -o out in > /dev/null; sed 20001d in | cmp - out/in
}

a_filter_and_a_link_to_it_have_one_lock() {
	no_json && return
	echo '{"text":"a"}' > in
	bloomery corpus dedup -F ./f $new in | cmp - in
	mkdir links; ln -s ../f links/g; same "$(bloomery corpus dedup -F links/g in)" ''
	same "$(echo *.claims links/*)" 'f.claims links/g'
}

what_cannot_be_read_again_has_no_output_file() {
	no_json && return
	exits 2 bloomery corpus dedup -F ./f $new -o out <(echo '{"text":"a"}'); says 'leave out -o'
	same "$(bloomery corpus dedup -F ./f <(echo '{"text":"a"}'))" '{"text":"a"}'
}

removed_text_adds_nothing_to_the_filter() {
	no_json && return
	printf '{"text":"%s"}\n' 'a b c d e f' 'a b c d e x' 'd e x' > in
	bloomery corpus dedup -F ./f $new --by ngram --ngram 3 --threshold 0.7 in > out
	sed 2d in | cmp - out
}

annotated_documents_say_what_would_go() {
	no_json && return
	printf '{"text":"%s"}\n' 'one\ntwo' 'two\nthree' > in
	bloomery corpus dedup -F ./f $new --by paragraph --annotate --attribute 'my "spans"' in > out
	printf '%s\n' '{"text":"one\ntwo","my \"spans\"":[]}' '{"text":"two\nthree","my \"spans\"":[[0,4,1]]}' | cmp - out
}

a_line_that_is_no_object_takes_no_spans() {
	no_json && return
	for line in '"a}"' '["a}"]'; do
		echo "$line" > in; pointer=; [ "$line" = '"a}"' ] || pointer=/0
		exits 2 bloomery corpus dedup -F ./f $new --by paragraph --text "$pointer" --annotate in; says 'in: line 1: is no object'
		bloomery corpus dedup -F ./f $new --by paragraph --text "$pointer" in | cmp - in; rm f f.claims
	done
}

short_units_are_kept_and_not_counted() {
	no_json && return
	printf '{"text":"%s"}\n' 'x\n\n \n' 'x\n\n \n' 'the end\nof it all is here' 'the end\nof it all is here' > in
	bloomery corpus dedup -F ./f $new --by paragraph in > out; same "$(wc -l < out)" 2
	bloomery corpus dedup -F ./g $new --by paragraph --min-tokens 3 in > out; same "$(wc -l < out)" 4
	same "$(sed -n 4p out)" '{"text":"the end\n"}'
	bloomery corpus count --by paragraph in > out; grep -q '6 paragraphs with 6 keys' out
	bloomery corpus count --by paragraph --min-tokens 0 in > out; grep -q '12 paragraphs with 12 keys' out
}

paragraphs_may_end_at_any_separator() {
	no_json && return
	printf '{"text":"%s"}\n' 'a\nb\n\nc' 'c\n\na\nb\n\nd' > in
	bloomery corpus dedup -F ./f $new --by paragraph --separator '\n\n' in > out
	printf '%s\n' '{"text":"a\nb\n\nc"}' '{"text":"d"}' | cmp - out
}

bad_lines_end_the_run_or_are_counted() {
	no_json && return
	printf '%s\n' '{"text":"good"}' '{"text":1}' > a; printf '%s\n' '{"text":"good"}' '{"txt":"x"}' > b
	printf '%s\n' '{"text":"good"}' '{"text":"x"' > c; printf '{"text":"good"}\n{"text":"\xff"}\n{"text":"after"}\n' > d
	printf '%s\n' '{"text":"good"}' '{"text":"\ud800"}' > e; printf '%s\n' '{"text":"good"}' '{"text":"x","text":"y"}' > f
	printf '%s\n' '{"text":"good"}' "$(printf '[%.0s' {1..2000})" > g
	# a surrogate where no pointer leads, a NUL, a surrogate as bytes, a slash of two bytes, a byte order mark, two values
	i=0; for line in '{"text":"x","a":{"\\udfff":1}}' '{"text":"a\x00b"}' '{"text":"\xed\xa0\x80"}' '{"text":"\xc0\xaf"}' '\xef\xbb\xbf{"text":"x"}' '{"text":"x"}{"text":"y"}'; do
		i=$((i + 1)); printf "{\"text\":\"good\"}\n$line\n" > h$i
	done
	for file in a b c d e f g h?; do
		exits 2 bloomery corpus dedup -F ./filter $new --by paragraph $file; says "$file: line 2: "
		rm -f filter filter.claims
	done
	bloomery corpus dedup -F ./filter $new --by paragraph --skip-bad -o out --json a b c d e f g h? > o
	holds '[x["bad"] for x in all] == [1] * 13 + [13]' < o; holds 'all[3]["documents"] == 2' < o
	same "$(cat out/*)" '{"text":"good"}
{"text":"after"}'
	rm -f filter filter.claims; bloomery corpus dedup -F ./filter ${new% -q} --by paragraph --skip-bad a d > o 2> said; grep -q '^bloomery: 2 bad lines are left out$' said
}

a_line_that_is_too_long_is_refused_or_skipped() {
	no_json && return
	# what follows the long line is in its last block, and has no end in the blocks after it
	{ echo '{"text":"first"}'; printf '{"text":"'; head -c 67500000 /dev/zero | tr '\0' x; printf '"}\n{"text":"last"}\n{"text":"'
		head -c 600000 /dev/zero | tr '\0' y; echo '"}'; } > in
	exits 2 bloomery corpus dedup -F ./f $new in; says 'line 2: is longer than 67108864 bytes'
	rm -f f f.claims
	bloomery corpus dedup -F ./f $new --skip-bad in | cut -c 1-20 > out
	printf '%s\n' '{"text":"first"}' '{"text":"last"}' '{"text":"yyyyyyyyyyy' | cmp - out
	bloomery corpus count --skip-bad --json < <(cat in; echo '{') > o; holds 'j["bad"] == 2 and j["documents"] == 3' < o
}

test_sets_are_found_in_documents() {
	no_json && return
	printf '{"text":"%s"}\n' 'one two three four five six' 'seven eight nine ten eleven' > set1
	printf '{"text":"%s"}\n' 'red green blue black white' > set2
	printf '{"text":"%s"}\n' 'he said one two three four five six\nand left' 'nothing of it here at all' 'red green blue black white' > train
	ngrams='--by ngram --ngram 4 --threshold 0.5'
	bloomery corpus index -F ./s1 $new $ngrams set1 > /dev/null; bloomery corpus index -F ./s2 $new $ngrams set2 > /dev/null
	cp s1 before
	bloomery corpus decontaminate --against ./s1 --against ./s2 $ngrams -o out --json train > o
	printf '{"text":"%s"}\n' 'and left' 'nothing of it here at all' | cmp - out/train
	holds 'all[0]["removed"] == 2 and all[1] == {"against": "./s1", "found": 1} and all[2]["found"] == 1' < o
	cmp s1 before; chmod a-w s1
	bloomery corpus decontaminate --against ./s1 $ngrams train > out1; same "$(wc -l < out1)" 3
	bloomery corpus decontaminate --against ./s1 $ngrams train | cmp - out1	# it adds nothing
}

partitions_together_remove_what_one_run_removes() {
	no_json && return
	python3 -S "$reference" make $documents a.jsonl b.jsonl
	for mode in url paragraph; do
		python3 -S "$reference" expect $mode want-$mode a.jsonl b.jsonl
		for i in 1 2 3; do	# as large a filter as a third of the keys need
			# shellcheck disable=SC2046
			bloomery corpus dedup -F ./$mode$i $new $(options_of $mode) --partition $i/3 --attributes p -o $mode-$i a.jsonl b.jsonl > /dev/null
		done
		# shellcheck disable=SC2046
		bloomery corpus merge --part $mode-1 --part $mode-2 --part $mode-3 $(options_of $mode) -o got-$mode a.jsonl b.jsonl > /dev/null
		diff -r want-$mode got-$mode
		# shellcheck disable=SC2046
		bloomery corpus merge --part $mode-1 --part $mode-2 --part $mode-3 $(options_of $mode) --attributes p -o all-$mode a.jsonl b.jsonl > /dev/null
		# shellcheck disable=SC2046
		bloomery corpus dedup -F ./$mode $new $(options_of $mode) --attributes p -o one-$mode a.jsonl b.jsonl > /dev/null
		diff -r one-$mode all-$mode
	done
	bloomery corpus dedup -F ./bracket $new --by paragraph --partition 1/1 --attributes '["' -o bracket-1 a.jsonl > /dev/null
	bloomery corpus merge --part bracket-1 --by paragraph a.jsonl | cmp - got-paragraph/a.jsonl
	exits 64 bloomery corpus dedup -F ./f --by paragraph --partition 1/3 --attributes p -o y --dolma-bug-compatible a.jsonl; says 'to it only'
	sed 1d paragraph-2/a.jsonl > short; mv short paragraph-2/a.jsonl
	exits 2 bloomery corpus merge --part paragraph-1 --part paragraph-2 --by paragraph -o x a.jsonl; says paragraph-2/a.jsonl
	exits 64 bloomery corpus dedup -F ./f --partition 4/3 --attributes p -o y a.jsonl; exits 64 bloomery corpus merge a.jsonl; says --part
}

# The partitions add the keys of all units, so that each knows what it adds without the others.
partitions_of_ngrams_count_what_merge_adds_up() {
	no_json && return
	python3 -S "$reference" make $documents a.jsonl b.jsonl
	for mode in all-ngram-paragraph all-ngram-document all-ngram-both; do
		python3 -S "$reference" expect $mode want-$mode a.jsonl b.jsonl
		for parts in 1 3; do
			folders=
			for ((i = 1; i <= parts; i++)); do
				# shellcheck disable=SC2046
				bloomery corpus dedup -F ./$mode-$i-$parts $new $(options_of $mode) --partition $i/$parts --attributes p -o p$mode$i-$parts a.jsonl b.jsonl > /dev/null
				folders+=" --part p$mode$i-$parts"
			done
			# shellcheck disable=SC2046
			bloomery corpus merge $folders $(options_of $mode) -o got-$mode-$parts a.jsonl b.jsonl > /dev/null
			diff -r want-$mode got-$mode-$parts
		done
	done
	# a partition that is given twice counts its keys twice
	exits 2 bloomery corpus merge --part p${mode}1-1 --part p${mode}1-1 --by ngram --ngram 5 --stride 2 -o x a.jsonl; says 'not of this document'
}

the_example_of_slurm_cleans_a_corpus_in_partitions() {
	no_json && return
	: "${TOOLS:?must be the folder of the sources of the program}"
	mkdir bin; ln -s "$BLOOMERY" bin/bloomery
	python3 -S "$reference" make 200 a.jsonl b.jsonl; python3 -S "$reference" expect paragraph want a.jsonl b.jsonl
	for task in 2 1 3 2; do		# one of them is requeued
		SLURM_ARRAY_TASK_ID=$task PATH=$PWD/bin:$PATH "$TOOLS/examples/slurm/corpus.sbatch" parts 3 2000 paragraph a.jsonl b.jsonl > log
	done
	PATH=$PWD/bin:$PATH "$TOOLS/examples/slurm/corpus-merge.sbatch" parts 3 got paragraph a.jsonl b.jsonl > log
	diff -r want got
}

finished_files_are_skipped_and_another_command_is_refused() {
	no_json && return
	python3 -S "$reference" make 200 a.jsonl b.jsonl
	bloomery corpus dedup -F ./f $new -o out a.jsonl > /dev/null; cp out/a.jsonl before
	bloomery corpus dedup -F ./f -o out a.jsonl b.jsonl > o 2> said; grep -q '1 of 2 files' said; cmp out/a.jsonl before
	same "$(wc -l < o)" 1
	mkdir x; cp a.jsonl x; exits 2 bloomery corpus dedup -F ./f -o out2 a.jsonl x/a.jsonl; says 'both would become'
	exits 64 bloomery corpus dedup -F ./f -o out -; says 'standard input'
	exits 2 bloomery corpus dedup -F ./f $new -o . a.jsonl; says './a.jsonl is the same file'
	exits 2 bloomery corpus dedup -F ./f $new -o out out/a.jsonl; says 'out/a.jsonl is the same file'
}

filters_of_a_store_are_shared_like_files() {
	no_json && return
	printf '{"text":"%s"}\n' a b a > in
	same "$(bloomery corpus dedup -F docs $new in | wc -l)" 2; same "$(bloomery corpus dedup -F docs in | wc -l)" 0
	# by its path it is the same filter, with the same lock
	same "$(bloomery corpus dedup -F "$(echo "$BLOOMERY_STORE"/filters/*)" in | wc -l)" 0
	same "$(ls "$BLOOMERY_STORE/filters" | wc -l)" 1
	bloomery verify 2> /dev/null; same "$(ls "$BLOOMERY_STORE/claims" | wc -l)" 1
	bloomery drop docs; bloomery verify 2> /dev/null; same "$(ls "$BLOOMERY_STORE/claims")" ''
}

the_example_of_the_manual_cleans_a_corpus() {
	no_json && return
	: "${TOOLS:?must be the folder of the sources of the program}"
	sed -n '/^\.Sh CLEAN A CORPUS/,/^\.Sh ASK/p' "$TOOLS/man/bloomery-examples.7" | sed -n '/^\.Bd/,/^\.Ed/p' | grep '^bloomery corpus' > recipe
	same "$(wc -l < recipe)" 5
	mkdir raw sets
	printf '{"text":"%s"}\n' 'first\nshared' 'first\nshared' > raw/a.jsonl; printf '{"text":"%s"}\n' 'shared\nlast' 'the answer is 42' > raw/b.jsonl
	printf '{"text":"%s"}\n' 'the answer is 42' > sets/t.jsonl
	while read -r line; do eval "$line" > log; done < recipe
	same "$(cat clean/*)" '{"text":"first\nshared"}
{"text":"last"}'
}

verbs_and_units_are_completed() {
	same "$(bloomery help --complete -- corpus '' | tr '\0\n\t' '   ' | grep -o 'd[a-z]*p\|index\|decontaminate\|merge\|count' | tr '\n' ' ')" 'dedup index decontaminate merge count '
	bloomery help --complete -- corpus dedup --by '' | tr '\0' '\n' | grep -q paragraph
}

create_same_refuses_a_filter_that_differs() {
	no_json && return
	echo '{"text":"a"}' > in
	bloomery corpus dedup -F ./f --create-same -n 1m -p 0.01 -o out in > /dev/null
	for verb in 'dedup -o new' index; do
		# shellcheck disable=SC2086
		exits 2 bloomery corpus $verb -F ./f --create-same -n 100m -p 0.0001 in
		says './f: exists with capacity 1000000, rate 0.01; -n, -p were not used, which --create-same refuses'
	done
	[ ! -e new ]
	bloomery corpus dedup -F ./f --create-same -n 1m -p 0.01 -o new in > /dev/null; same "$(cat new/in)" ''
}

misuse_is_one_line() {
	exits 64 bloomery corpus; exits 64 bloomery corpus dedpu; says dedup
	exits 64 bloomery corpus dedup; says -F; exits 64 bloomery corpus decontaminate; says --against
	exits 64 bloomery corpus index -F f -o out; says -o; exits 64 bloomery corpus count -F f; says -F
	exits 64 bloomery corpus dedup -F f --by word; says --by; exits 64 bloomery corpus dedup -F f --threshold 1.1
	exits 64 bloomery corpus dedup -F f --by ngram --key /id; says --key; exits 64 bloomery corpus dedup -F f -n 100; says --create
	exits 64 bloomery corpus dedup -F f --annotate --attributes n; exits 64 bloomery corpus dedup -F f --unit line
	no_json && return
	echo '{"text":"a"}' > in
	exits 64 bloomery corpus dedup -F ./f --create -n 100 --attributes n in; says /documents/
	exits 64 bloomery corpus dedup -F ./f --create -n 100 --key text in; says 'JSON Pointer'
	exits 2 bloomery corpus dedup -F ./nosuch in; says nosuch; exits 2 bloomery corpus dedup -F ./f --create -n 100 nosuch; says nosuch
	bloomery create ./old -n 100 --kind classic --scheme salted 2> /dev/null || return 0
	exits 2 bloomery corpus dedup -F ./old in; says 'hash family'
}

prove_all

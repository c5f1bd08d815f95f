#!/bin/bash
# machines.sh - the recipes for many machines without MPI, each task a process here
# shellcheck source=/dev/null
. "${TAP:?must be tests/tools/tap.sh}"
: "${EXAMPLES:?must be the folder of the examples}" "${PAGE:?must be bloomery-cluster.7}"

begin() { mkdir bin home made; ln -s "$BLOOMERY" bin/bloomery; export PATH="$PWD/bin:$PATH" HOME=$PWD/home; make_whole; }
make_whole() { seq 20000 > keys; bloomery build ./whole -n 100k -p 0.001 --seed 42 keys; }
data() { tail -c "$(bloomery info "$1" --json | json 'j["data_bytes"]')" "$1"; }
same_data() { data "$1" > data.1; data "$2" | cmp - data.1; }
# The lines are in the page as they are here.
recipe() { while read -r line; do grep -qF -- "$line" "$PAGE" || { echo "not in the page: $line"; return 1; }; done; }

repeated_and_restarted_tasks_make_one_machines_filter() {
	begin; split -n l/4 -d -a 1 keys part
	TASK=0 timeout -s KILL 0.5 bash "$EXAMPLES/streaming.sh" made 100k < <(yes) 2> /dev/null || killed=$?
	same "$killed $(ls made)" '137 '
	for i in 0 1 2 3; do mapreduce_task_partition=$i bash "$EXAMPLES/streaming.sh" made 100k < part$i; done
	for i in 1 2; do mapreduce_task_partition=$i bash "$EXAMPLES/streaming.sh" made 100k < part$i; done
	bloomery union ./made/*.blm -o ./united; same_data ./whole ./united
	not env TASK= bash "$EXAMPLES/streaming.sh" made 100k < part0 2> err; grep -q 'number of the task' err
}

parallel_deals_the_lines_to_tasks() {
	command -v parallel > /dev/null || { echo '# SKIP GNU parallel is not installed'; return; }
	parallel --version 2> /dev/null > version; grep -q 'GNU parallel' version || { echo '# SKIP parallel is not that of GNU'; return; }
	begin
	parallel --will-cite -j2 --pipe --block 30k bash "$EXAMPLES/streaming.sh" made 100k < keys
	[ -e made/1.blm ] && [ -e made/2.blm ]
	bloomery union ./made/*.blm -o ./united; same_data ./whole ./united
	recipe << 'END'
parallel --pipe --block 1g examples/streaming.sh made 100m
bloomery union ./made/*.blm -o ./F
END
}

a_corpus_in_partitions_loses_what_one_run_finds() {
	begin
	for i in $(seq 600); do printf '{"text": "line %s"}\n' $((i % 400)); done > a.jsonl
	if ! bloomery corpus dedup -F ./one --create -n 10k -p 1e-6 --seed 42 -o one.out a.jsonl > /dev/null 2> err; then
		grep -q 'built without' err && { echo '# SKIP the program reads no JSON'; return; }
	fi
	for i in 1 2 3; do
		SLURM_ARRAY_TASK_ID=$i bash "$EXAMPLES/slurm/corpus.sbatch" made 3 5000 document a.jsonl > /dev/null
	done
	SLURM_ARRAY_TASK_ID=2 bash "$EXAMPLES/slurm/corpus.sbatch" made 3 5000 document a.jsonl > /dev/null
	bash "$EXAMPLES/slurm/corpus-merge.sbatch" made 3 clean document a.jsonl > /dev/null
	same "$(wc -l < clean/a.jsonl)" 400; cmp clean/a.jsonl one.out/a.jsonl
}

prove_all

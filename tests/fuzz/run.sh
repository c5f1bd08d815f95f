#!/bin/bash
# run.sh - runs the fuzz targets of a build one after the other, on all processors
#
# usage: tests/fuzz/run.sh BUILD RUNS SECONDS [FOLDER [SEED]]
#
# RUNS is the number of executions of each target with new inputs. A target with fewer executions
# when the SECONDS for all targets are over has failed. The targets begin with the corpus of the
# repository and with the inputs in FOLDER/TARGET, where they also store what they find. RUNS 0: as
# many as there is time for; each target gets the same share, begins with some of those inputs, and
# stores none.
#
# With a SEED every run executes the same inputs: each target has two processes on any machine, they
# exchange no inputs, and the order in which a folder is listed does not matter. With a SEED and
# FOLDER/TARGET, the two begin with some of its inputs. The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "$1" && pwd) || exit 2
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd) || exit 2
runs=$2 end=$((SECONDS + $3)) seed=${5:-}
processes=$([ "$seed" ] && echo 2 || nproc)
if [ -n "${4:-}" ]; then
	mkdir -p "$4" && folder=$(cd "$4" && pwd) || exit 2
else
	folder=$(mktemp -d) || exit 2
fi
log=$(mktemp -d) || exit 2
trap 'rm -rf "$log"; [ -n "${4:-}" ] || rm -rf "$folder"' EXIT
export UBSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16
passed=0 failed=0

# Copies some of the inputs of a folder, others for each number of a process.
some()
{
	local count step
	count=$(find "$1" -type f | wc -l)
	step=$((count / 400 + 1))
	mkdir -p "$3"
	find "$1" -type f | sort | awk -v step=$step -v first="$2" '(NR + first) % step == 0' | xargs -r cp -t "$3"
}

# One process after the other, because memory that a program leaves to the system at its end adds up here, most for commands; each begins
# with the finds of those before it. No entropy: its bookkeeping takes longer than most inputs. The finds of others are read now and then:
# among thousands of files that takes its time, too. Through a pipe: a target may limit the size of its files. For the command line longer
# inputs would only be more commands one after the other: those of the repository run once as they are.
work()
{
	local target=$1 name=$2 log=$3 left=$4 seed=$5 stop=$6 most=500000 share new rest corpus from
	local how=(-entropic=0 -reload=10 -rss_limit_mb=3000 -timeout=600 -close_fd_mask=3)
	corpus=("$folder/$name")
	if [ "$runs" = 0 ] || [ "$seed" ]; then
		corpus=("$log/begin")
		some "$folder/$name" "${log##*/}" "$log/begin"
	fi
	[ ! -d "$here/corpus/$name" ] || corpus+=("$here/corpus/$name")
	cd "$log" || return 1
	if [ "$name" = cli ]; then
		how+=(-max_len=96) most=200000
		"$target" -timeout=600 -close_fd_mask=3 "$here/corpus/cli"/* > "$log/out" 2>&1 || return 1
	fi
	while [ "$left" -gt 0 ] && [ $((stop - SECONDS)) -gt 0 ]; do
		share=$((left < most ? left : most))
		share=$((share + $(find "${corpus[@]}" -type f | wc -l) + 10))	# it tries one or two of its own first
		rest=$((stop - SECONDS))	# 0 would be no limit
		from=("${corpus[@]}")
		if [ "$seed" ]; then
			mkdir "$log/found" || return 1
			find "${corpus[@]}" -type f | awk -F / '{ print $NF, $0 }' | sort | cut -d ' ' -f 2- |
				paste -s -d , > "$log/inputs"
			from=(-reload=0 "-seed_inputs=@$log/inputs" "$log/found")
		fi
		"$target" ${seed:+-seed=$seed} -runs=$share -max_total_time=$((rest > 0 ? rest : 1)) "${how[@]}" -print_final_stats=1 \
			"${from[@]}" 2>&1 | cat > "$log/out"
		[ "${PIPESTATUS[0]}" = 0 ] || return 1
		new=$(awk '$2 == "INITED" { old = substr($1, 2) } /^stat::number_of_executed_units:/ { all = $2 } END { print all - old }' "$log/out")
		echo "$new" >> "$log/done"
		left=$((left - new))
		if [ "$seed" ]; then
			find "$log/found" -type f -exec mv -t "$log/begin" {} + && rmdir "$log/found" || return 1
			seed=$((seed + processes))
		fi
	done
}

# What it ended with, and the input that it was: that is all there is to find it again by, since the folder goes.
show_failure()
{
	local target=$1 log=$2 input

	tail -12 "$log/out"
	for input in "$log"/crash-* "$log"/timeout-* "$log"/oom-* "$log"/leak-*; do
		if [ -f "$input" ]; then
			(cd "$log" && "$target" -timeout=600 "$input" 2>&1) | grep -aE 'not true|ERROR|runtime error|#[0-9]+ .* in (blm_|LLVM)' | cut -c 1-300 | head -12
			echo "# the input, for base64 -d | gunzip: $(gzip -9n < "$input" | base64 -w 0 | head -c 60000)"
		fi
	done
}

# Run the target for this many seconds; report the result.
fuzz()
{
	local target=$1 seconds=$2 name=${1##*/fuzz_} pids=() code=0 begun=$SECONDS count each least=$((runs ? runs : 1))
	each=$((runs ? (runs + processes - 1) / processes : 1 << 62))
	mkdir -p "$folder/$name"
	for ((i = 0; i < processes; i++)); do
		mkdir -p "$log/$name/$i"
		: > "$log/$name/$i/done"
		work "$target" "$name" "$log/$name/$i" $each "${seed:+$((seed + i))}" $((SECONDS + seconds)) &
		pids+=($!)
	done
	for ((i = 0; i < processes; i++)); do
		wait "${pids[i]}" || { show_failure "$target" "$log/$name/$i"; code=1; }
	done
	# Only now, so that neither process has met what the other found.
	if [ "$seed" ]; then
		find "$log/$name"/*/begin -type f -exec cp -n -t "$folder/$name" {} +
	fi
	count=$(awk '{ n += $1 } END { printf "%d\n", n }' "$log/$name"/*/done)
	echo "# $name: $count executions in $((SECONDS - begun)) s, by $processes processes at once;" \
		"$(find "$folder/$name" -type f | wc -l) inputs beside the corpus"
	if [ $code != 0 ]; then
		echo "not ok - fuzz_$name"
	elif [ "$count" -lt $least ]; then
		echo "not ok - fuzz_$name: $count executions, not $least: the time for all of them was over"
		code=1
	else
		echo "ok - fuzz_$name"
	fi
	return $code
}

# What must have its executions first, the slowest of that last: where time is short it is the last that go without.
targets=()
for name in import base64 record cli open bank; do
	target=$build/tests/fuzz/fuzz_$name
	[ ! -f "$target" ] || [ ! -x "$target" ] || targets+=("$target")
done
for target in "$build"/tests/fuzz/fuzz_*; do
	if [ -f "$target" ] && [ -x "$target" ] && [[ " ${targets[*]} " != *" $target "* ]]; then
		targets+=("$target")
	fi
done
for ((t = 0; t < ${#targets[@]}; t++)); do
	left=$((end - SECONDS))
	if fuzz "${targets[t]}" $((runs ? left : left / (${#targets[@]} - t))); then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
[ $((passed + failed)) -gt 0 ] || { echo "not ok - there are no fuzz targets in $build"; failed=1; }
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

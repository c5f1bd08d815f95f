#!/bin/bash
# runs.sh - a table in many sorted runs, each behind a filter of its keys: runs.sh FOLDER [RUNS [ROWS [ABSENT]]]
#
# So Bigtable, Cassandra, LevelDB and RocksDB keep their rows: each run is a table of its own on the disk, and a row may be in any. Who asks for
# one has to look in all of them, but a filter in memory says of most that it is not there. Here 20 runs have 50,000 rows each, in
# LMDB, and their filters are wrong at a rate of 0.01. 1,000,000 keys that are in no run would be 20,000,000 look-ups.
set -euo pipefail
cd "$1"
bloomery=${BLOOMERY:-bloomery} table=${TABLE:-table}	# table.c, beside this file
runs=${2:-20} rows=${3:-50000} absent=${4:-1000000}

for ((i = 0; i < runs; i++)); do	# the rows are dealt out
	seq $i "$runs" $((runs * rows - 1)) | sed 's/.*/row&\tvalue &/' > rows.$i
	"$table" run.$i < rows.$i
	cut -f 1 rows.$i > keys.$i
	"$bloomery" create ./filter.$i -n "$rows" -p 0.01 --seed $i
	"$bloomery" add ./filter.$i keys.$i
	rm keys.$i
done

# Every row, with its value, from whichever run has it.
seq 0 $((runs * rows - 1)) | sed 's/^/row/' > all
for ((i = 0; i < runs; i++)); do "$bloomery" guard ./filter.$i --exact run.$i --values < all; done | sort > found
sort rows.* | cmp - found
echo "$(wc -l < found) rows of $((runs * rows)) found, each with its value"

seq "$absent" | sed 's/^/nothing/' > absent
for ((i = 0; i < runs; i++)); do "$bloomery" guard ./filter.$i --exact run.$i --stats --json < absent || [ $? = 1 ]; done |	# 1: none of them is found
	sed 's/.*"looked_up":\([0-9]*\),"found":\([0-9]*\).*/\1 \2/' |
	awk -v all=$((runs * absent)) '{ looked += $1; found += $2 }
		END { printf "%d keys that are in none: %d of %d look-ups, %.3f %%, %d found\n", all / NR, looked, all, 100 * looked / all, found }'

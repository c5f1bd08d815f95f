#!/bin/bash
# streaming.sh - a filter of the lines on standard input, for engines that give each task a share of the lines
#
# usage: streaming.sh FOLDER KEYS < LINES
#
# KEYS is the capacity of the whole. The tasks are mappers of Hadoop streaming (a job without reducers), jobs of
# GNU parallel --pipe, or processes of any engine that sets $TASK to the number of the task. FOLDER is on a file
# system that the last step sees too, which unites the filters:
#
#	bloomery union FOLDER/*.blm -o F
#
# A filter appears whole or not at all. So a task may be killed, begin again, or run twice at once.
set -euo pipefail
bloomery=${BLOOMERY:-bloomery}
folder=$1 keys=$2
task=${mapreduce_task_partition:-${PARALLEL_SEQ:-${TASK:?is the number of the task}}}
made=$folder/$task.blm

# a task that ends before it has read its lines fails in some engines
[ ! -e "$made" ] || exec cat > /dev/null
"$bloomery" build "$made" -n "$keys" -p 0.001 --seed 42 || [ -e "$made" ]

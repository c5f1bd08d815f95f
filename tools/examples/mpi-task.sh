#!/bin/bash
# mpi-task.sh - a rank of mpirun does one task of an array job
#
# usage: mpirun -n TASKS mpi-task.sh SCRIPT ARGUMENT...
#
# SCRIPT is one of the folder slurm that is made for `sbatch --array=1-TASKS`: build, partition, corpus or corpus-merge.
# If a rank dies, mpirun ends the others. The same command then goes on where the tasks were.
set -euo pipefail
: "${1:?is to be the script of the array job}"
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?is the number of the rank, which mpirun gives}}
export SLURM_ARRAY_TASK_ID=$((rank + 1))
exec bash "$@"

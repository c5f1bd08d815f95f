#!/bin/bash
# memory.sh - runs memory.c in a folder of its own: memory.sh PROGRAM EXTENSION
. "${BASH_SOURCE[0]%/*}/../setup.sh"
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$2" "$folder/store"

#!/bin/bash
# duckdb.sh - compiles duckdb.c to an extension of DuckDB: duckdb.sh FOLDER-OF-LIBDUCKDB OUTPUT.duckdb_extension
#
# npm's package @duckdb/node-api brings libduckdb.so in node_modules/@duckdb/node-bindings-linux-x64. A file that DuckDB loads ends with
# 534 bytes about itself: a custom section of WebAssembly with eight fields of 32 bytes, and room for a signature. DuckDB takes the entry
# from the name of the file, so that is bloomery.duckdb_extension.
set -euo pipefail
folder=$1 output=$2
flags=$(pkg-config --cflags --libs bloomery)
case $(uname -m) in x86_64) platform=linux_amd64 ;; aarch64) platform=linux_arm64 ;; *) echo "duckdb.sh: no DuckDB for $(uname -m)" >&2; exit 2 ;; esac

field() { printf '%s' "$1"; head -c $((32 - ${#1})) /dev/zero; }

# shellcheck disable=SC2086
${CC:-cc} -D_GNU_SOURCE -O2 -fPIC -shared -fvisibility=hidden -Wl,-z,nodelete ${CFLAGS-} -o "$output.new" "$(dirname "$0")/duckdb.c" \
	"$folder/libduckdb.so" $flags
{
	printf '\0\223\004\020duckdb_signature\200\004'
	for value in '' '' '' C_STRUCT 0.1 v1.2.0 $platform 4; do field "$value"; done
	head -c 256 /dev/zero
} >> "$output.new"
mv "$output.new" "$output"

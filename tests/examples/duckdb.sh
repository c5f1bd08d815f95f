#!/bin/bash
# duckdb.sh - the extension of DuckDB compiles, and answers as the program does
#
# usage: tests/examples/duckdb.sh BUILD [FOLDER WITH node_modules]
#
# npm brings DuckDB, 70 MB, into a temporary folder if none is given. Exits 77 where node or npm is not, or has no registry.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
build=$(cd "${1:?name the folder of a build}" && pwd) || exit 64
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
modules=${2-}
if [ -z "$modules" ]; then
	if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
		echo 'skipped: node and npm are not installed'
		exit 77
	fi
	modules=$top
	if ! npm install --prefix "$top" --no-audit --no-fund --silent @duckdb/node-api > "$top/npm" 2>&1; then
		cat "$top/npm"
		echo 'skipped: npm cannot install @duckdb/node-api'
		exit 77
	fi
fi
bindings=$(echo "$modules"/node_modules/@duckdb/node-bindings-linux-*)
export LD_LIBRARY_PATH=$build/lib PKG_CONFIG_PATH=$build/meson-uninstalled BLOOMERY_STORE=$top/store
CFLAGS='-Wall -Wextra -Werror -Wno-unused-parameter' bash "$root/tools/examples/duckdb.sh" "$bindings" "$top/bloomery.duckdb_extension" || exit 1
seq 0 2 100000 | "$build/tools/bloomery" claim seen --create -n 1m -p 0.001 --seed 1 > /dev/null || exit 1
NODE_PATH=$modules/node_modules node "$root/tests/examples/duckdb.js" "$top/bloomery.duckdb_extension" || exit 1
# A claim of the query is not new for the program, and a number is 8 bytes.
[ "$("$build/tools/bloomery" claim seen --hex --key 2a00000000000000 --key 2b00000000000000)" = 2b00000000000000 ]

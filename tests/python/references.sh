#!/bin/bash
# references.sh - the package of Python keeps no references and no files
#
# usage: tests/python/references.sh [BUILD]
#
# Compiles the core by the headers of Debian's debug build of Python, which counts all references, and counts them over many calls.
# Then opens and closes a filter a million times. BUILD (build) has the library.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
# shellcheck disable=SC2086
install_missing $build_packages python3-dev python3-dbg >&2 || exit 2
build=$(cd "${1:-$root/build}" && pwd) || exit 2
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
export PATH=/usr/bin:/bin LD_LIBRARY_PATH=$build/lib PYTHONDONTWRITEBYTECODE=1	# Debian's Python

set -e
for python in python3-dbg python3; do
	mkdir -p "$top/$python" "$top/$python.files"
	cp -R "$root/tools/python/bloomery" "$top/$python"
	include=$($python -c 'import sysconfig; print(sysconfig.get_path("include"))')
	gcc -shared -fPIC -O1 -D_GNU_SOURCE -std=gnu11 -fno-strict-aliasing -I"$include" -I"$root/lib" \
		-o "$top/$python/bloomery/_core.abi3.so" "$root"/tools/python/core/*.c -L"$build/lib" -lbloomery
done
PYTHONPATH=$top/python3-dbg python3-dbg "$root/tests/python/references.py" "$top/python3-dbg.files"
echo 'ok - under a debug build of Python no call keeps a reference'

cd "$top/python3.files"
PYTHONPATH=$top/python3 python3 - << 'END'
import os

from bloomery import Filter


def held():
    with open('/proc/self/statm') as memory, open('/proc/self/maps') as maps:
        return int(memory.read().split()[1]) * 4, len(maps.readlines()), len(os.listdir('/proc/self/fd'))


def work(times):
    for i in range(times):
        with Filter.open('often.blm') as f:
            f.add(i & 1023)
            memoryview(f).release()


Filter.create('often.blm', 1000, 0.01).close()
work(10000)
before = held()
work(1000000)
grown = [after - first for after, first in zip(held(), before)]
print(f'# a million times: {grown[0]} KiB, {grown[1]} maps and {grown[2]} files more')
assert grown[0] < 4096 and grown[1] < 10 and grown[2] == 0
END
echo 'ok - to open and close a filter a million times keeps nothing'

#!/bin/bash
# wheel.sh - a wheel of the package of Python works where the library is not installed
#
# usage: tests/install/wheel.sh
#
# Makes the wheel by tools/python/wheel and installs it in an environment of its own.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
# shellcheck disable=SC2086
install_missing $build_packages $python_packages python3-wheel python3-venv >&2 || exit 2
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT
unset LD_LIBRARY_PATH PYTHONPATH
export PATH=/usr/bin:/bin		# Debian's Python

set -e
"$root/tools/python/wheel" "$top/dist"
wheels=("$top"/dist/bloomery_filters-*-cp39-abi3-linux_*.whl)
[ ${#wheels[@]} = 1 ]
python3 -m venv "$top/env"
"$top/env/bin/pip" --disable-pip-version-check install --quiet --no-index "${wheels[0]}"
cd "$top"
env/bin/python - << 'END'
import bloomery
from bloomery.compat import pybloomfilter

pages = bloomery.Filter.create('pages.blm', 1000, 1e-3)
assert pages.claim('a') and not pages.claim('a') and len(pages) == 1
assert 'a' in bloomery.Filter.from_base64(None, pages.to_base64())
built = bloomery.Filter.build('built.blm', range(1000), kind='ribbon')
assert built.contains_many(range(1000)).yes == 1000
old = pybloomfilter.BloomFilter(100, 0.01, 'old.bloom')
assert not old.add('a') and 'a' in old
END
core=(env/lib/python3*/site-packages/bloomery/_core.abi3.so)
readelf -d "${core[0]}" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' > needed
grep -qx liblmdb needed && grep -qx libsodium needed
others=$(grep -vxE 'liblmdb|libsodium|libm|libc|ld-linux.*' needed || :)
[ -z "$others" ] || { echo "the wheel needs $others"; exit 1; }
"$top/env/bin/pip" --disable-pip-version-check uninstall --quiet --yes bloomery-filters
env/bin/python -c 'import bloomery' 2> /dev/null && { echo 'it is still there'; exit 1; }
echo 'ok - a wheel works without the library'

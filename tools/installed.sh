#!/bin/sh
# installed.sh - the last step of `meson install`: makes the library known to the loader; who is not root does without
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" = 0 ] && command -v ldconfig > /dev/null; then
	ldconfig
fi

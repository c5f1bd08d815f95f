"""calls.py - no call is forgotten where failures are ordered: none of the API, and none of what the library calls of the C library

usage: calls.py [NM LIBRARY INJECT]: the shared library, and the program of inject.c, where they can be looked at
"""

import os
import pathlib
import re
import subprocess
import sys

FAULT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FAULT.parent / 'reader'))
from tap import Tap

# Functions that ask nothing of the system, and the functions of libm; interpose.c names those that do and still are not made to fail, with
# the reasons.
IN_MEMORY = set('''
	assert_fail ctype_b_loc cxa_finalize errno_location tls_get_addr secure_getenv
	bcmp explicit_bzero gmtime_r inet_pton memchr memcmp memcpy memmove memset mempcpy stpcpy strcat strchr strcmp strcpy strcspn strlen strncmp strncpy strnlen strpbrk
	strrchr strspn strerror strtod strtol strtoul strtoull fnmatch snprintf vsnprintf sscanf strftime qsort sched_cpucount
	gnu_dev_major gnu_dev_minor x86_get_cpuid_feature_leaf
	sigaddset sigandset sigdelset sigemptyset sigfillset sigisemptyset sigismember sigsetjmp siglongjmp
'''.split())


def public_calls(tap):
	header = (FAULT.parent.parent / 'lib' / 'bloomery.h').read_text(encoding='utf-8')
	public = set(re.findall(r'^BLM_API [^(;]*?\b(blm_\w+)\(', header, re.M))
	made = set(re.findall(r'\b(blm_\w+)\(', ''.join(path.read_text(encoding='utf-8') for path in sorted(FAULT.glob('inject*.c')))))
	tap.ok(len(public) == header.count('\nBLM_API '), 'each public call of bloomery.h is seen')
	tap.equal(sorted(public - made), [], 'each is made by a case of inject.c')
	print('# %d public calls' % len(public))


def symbols(nm, which, file):
	"""[(name, version)], without what compilers and the C library put around the names"""
	lines = subprocess.run([nm, '-D', which, file], check=True, capture_output=True, text=True).stdout.splitlines()
	names = [line.split()[-1].partition('@') for line in lines]
	return [(re.sub(r'^__(isoc\d+_)?|(64)?(_chk)?$', '', name), version) for name, _, version in names]


def of_libm(nm, library):
	path = re.search(r'libm\.so\S* => (\S+)', subprocess.run(['ldd', library], check=True, capture_output=True, text=True).stdout)
	return {name for name, _ in symbols(nm, '--defined-only', path[1])} if path else set()


def excused():
	"""The names before the colons of interpose.c's list."""
	text = (FAULT / 'interpose.c').read_text(encoding='utf-8').partition('*/')[0].replace('\n *', '')
	return {name for names in re.findall(r' - ([\w, ]+):', text) if re.fullmatch(r'\w+(, +\w+)*', names) for name in re.findall(r'\w+', names)}


ALL_FAIL = 'what the library calls of the C library fails on order, or has a reason not to'


def has_named_versions():
	return 'CS_GNU_LIBC_VERSION' in os.confstr_names and os.confstr('CS_GNU_LIBC_VERSION')


def system_calls(tap, nm, library, inject):
	if not has_named_versions():
		tap.skip(ALL_FAIL, 'this C library has no versions by which its names are known')
		return
	taken = {name for name, version in symbols(nm, '--undefined-only', library) if version.startswith('GLIBC')}
	tap.ok('malloc' in taken, 'the library calls malloc')
	fails = {name for name, _ in symbols(nm, '--defined-only', inject)}
	pure = IN_MEMORY | of_libm(nm, library)
	tap.equal(sorted(taken - fails - excused() - pure), [], ALL_FAIL)
	tap.equal(sorted(fails & (excused() | pure)), [], 'what fails on order has none')
	print('# %d calls of the C library, %d of them fail on order' % (len(taken), len(taken & fails)))


def main():
	tap = Tap()
	public_calls(tap)
	if len(sys.argv) == 1:
		tap.skip(ALL_FAIL, 'there is no nm, or what is built is for another machine, or makes no call fail')
	elif b'__llvm_prf' in pathlib.Path(sys.argv[2]).read_bytes():
		tap.skip(ALL_FAIL, 'counters of branches are written by other calls')
	else:
		system_calls(tap, *sys.argv[1:])
	tap.done()


main()

"""calls.py - no public call is forgotten where failures are ordered: each that bloomery.h has is made by a case of inject.c"""

import pathlib
import re
import sys

FAULT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FAULT.parent / 'reader'))
from tap import Tap


def main():
	tap = Tap()
	header = (FAULT.parent.parent / 'lib' / 'bloomery.h').read_text(encoding='utf-8')
	public = set(re.findall(r'^BLM_API [^(;]*?\b(blm_\w+)\(', header, re.M))
	made = set(re.findall(r'\b(blm_\w+)\(', ''.join(path.read_text(encoding='utf-8') for path in sorted(FAULT.glob('inject*.c')))))
	tap.ok(len(public) == header.count('\nBLM_API '), 'each public call of bloomery.h is seen')
	tap.equal(sorted(public - made), [], 'each is made by a case of inject.c')
	print('# %d public calls' % len(public))
	tap.done()


main()

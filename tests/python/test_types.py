"""test_types.py - the types that the package states are those that it has"""
import importlib.util
import os
import subprocess
import sys
import unittest

import bloomery


@unittest.skipUnless(importlib.util.find_spec('mypy'), 'mypy is not here')
class Types(unittest.TestCase):
    def check(self, *args):
        folder = os.path.dirname(os.path.dirname(bloomery.__file__))
        out = subprocess.run([sys.executable, '-m', *args], env={**os.environ, 'MYPYPATH': folder}, capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)

    def test_the_modules_are_typed_in_full(self):
        self.check('mypy', '--strict', '--cache-dir', '.cache', '-p', 'bloomery')

    def test_the_core_has_the_types_of_its_stub(self):
        self.check('mypy.stubtest', 'bloomery._core')


class Help(unittest.TestCase):
    def test_every_public_name_says_what_it_is(self):
        for name in bloomery.__all__:
            self.assertTrue(getattr(bloomery, name).__doc__, name)
        for kind in bloomery.Filter, bloomery.Store, bloomery.Answers:
            for name in dir(kind):
                if not name.startswith('_') and name not in ('yes', 'bits'):
                    self.assertTrue(getattr(kind, name).__doc__, f'{kind.__name__}.{name}')

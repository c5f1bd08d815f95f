"""run.py - the tests of the extension of SQLite, as TAP

usage: run.py EXTENSION PROGRAM TEST-MODULE [SOURCE CORE]

CORE is that of the package of Python, whose keys are compared if it was built.
"""
import os
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result import Result, draw_the_same  # noqa: E402


def main():
    draw_the_same()
    extension, os.environ['BLOOMERY_PROGRAM'], name = sys.argv[1:4]
    os.environ['BLOOMERY_SQLITE'] = extension.removesuffix('.so')
    if not hasattr(sqlite3.Connection, 'enable_load_extension'):
        print('1..0 # SKIP the sqlite3 of this Python loads no extensions; use that of Debian')
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 4:
            put_package(folder, *sys.argv[4:])
        return run(name)


def put_package(folder, source, core):
    os.mkdir(f'{folder}/bloomery')
    for entry in os.listdir(f'{source}/tools/python/bloomery'):
        os.symlink(os.path.abspath(f'{source}/tools/python/bloomery/{entry}'), f'{folder}/bloomery/{entry}')
    os.symlink(os.path.abspath(core), f'{folder}/bloomery/_core.abi3.so')
    sys.path.insert(0, folder)


def run(name):
    tests = unittest.defaultTestLoader.loadTestsFromName(name)
    result = Result()
    print(f'1..{tests.countTestCases()}')
    tests.run(result)
    return not result.wasSuccessful()


if __name__ == '__main__':
    sys.exit(main())

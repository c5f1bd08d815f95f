"""run.py - the tests of the extension of SQLite, as TAP

usage: run.py EXTENSION PROGRAM TEST-MODULE
"""
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result import Result  # noqa: E402


def main():
    extension, os.environ['BLOOMERY_PROGRAM'], name = sys.argv[1:]
    os.environ['BLOOMERY_SQLITE'] = extension.removesuffix('.so')
    if not hasattr(sqlite3.Connection, 'enable_load_extension'):
        print('1..0 # SKIP the sqlite3 of this Python loads no extensions; use that of Debian')
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    tests = unittest.defaultTestLoader.loadTestsFromName(name)
    result = Result()
    print(f'1..{tests.countTestCases()}')
    tests.run(result)
    return not result.wasSuccessful()


if __name__ == '__main__':
    sys.exit(main())

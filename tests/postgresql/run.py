"""run.py - the extension of PostgreSQL, as TAP: built, installed under a temporary prefix, and used in a cluster of its own

usage: run.py SOURCE BUILD PROGRAM

Skips where PostgreSQL 15 or its headers are not; with BLOOMERY_POSTGRESQL=required that is a failure.
"""
import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
from cluster import Cluster, what_is_missing  # noqa: E402
from result import Result  # noqa: E402


def main():
    missing = what_is_missing()
    if missing:
        required = os.environ.get('BLOOMERY_POSTGRESQL') == 'required'
        print(f'1..1\nnot ok 1 - {missing}' if required else f'1..0 # SKIP {missing}')
        return required
    import test_extension
    with Cluster(*sys.argv[1:]) as cluster:
        test_extension.Case.cluster = cluster
        tests = unittest.defaultTestLoader.loadTestsFromModule(test_extension)
        result = Result()
        print(f'1..{tests.countTestCases()}')
        tests.run(result)
    return not result.wasSuccessful()


if __name__ == '__main__':
    sys.exit(main())

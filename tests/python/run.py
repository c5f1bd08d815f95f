"""run.py - the tests of the package of Python, as TAP; the package is put together from its source and the built core

usage: run.py SOURCE CORE TEST-MODULE
"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result import Result, draw_the_same  # noqa: E402


def main():
    draw_the_same()
    source, core, name = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f'{folder}/bloomery')
        for entry in os.listdir(f'{source}/tools/python/bloomery'):
            os.symlink(os.path.abspath(f'{source}/tools/python/bloomery/{entry}'), f'{folder}/bloomery/{entry}')
        os.symlink(os.path.abspath(core), f'{folder}/bloomery/_core.abi3.so')
        path = [folder, os.path.abspath(f'{source}/tools/python/extra'), os.path.abspath(f'{source}/tests/python')]
        sys.path[:0] = path
        os.environ['PYTHONPATH'] = ':'.join(path)
        os.makedirs(f'{folder}/work')
        os.chdir(f'{folder}/work')
        tests = unittest.defaultTestLoader.loadTestsFromName(name)
        result = Result()
        print(f'1..{tests.countTestCases()}')
        tests.run(result)
        os.chdir('/')
    return not result.wasSuccessful()


if __name__ == '__main__':
    sys.exit(main())

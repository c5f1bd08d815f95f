"""run.py - the tests of the package of Python, as TAP; the package is put together from its source and the built core

usage: run.py SOURCE CORE TEST-MODULE
"""
import os
import sys
import tempfile
import unittest


class Result(unittest.TestResult):
    count = 0

    def say(self, test, word, why=''):
        self.count += 1
        print(f'{word} {self.count} - {test.id().rpartition(".")[2].removeprefix("test_").replace("_", " ")}')
        for line in why.splitlines():
            print('#', line)
        sys.stdout.flush()

    def addSuccess(self, test):
        self.say(test, 'ok')

    def addSkip(self, test, reason):
        self.say(test, 'ok', f'SKIP {reason}')

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, 'not ok', self.errors[-1][1])

    addFailure = addError


def main():
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

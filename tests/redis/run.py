"""run.py - the tests of the module of Redis, as TAP, each file against a real server

usage: run.py SOURCE MODULE PROGRAM TEST-MODULE
"""
import os
import shutil
import sys
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
    source, os.environ['BLOOMERY_REDIS_MODULE'], os.environ['BLOOMERY_PROGRAM'], name = sys.argv[1:]
    os.environ['BLOOMERY_SOURCE'] = source
    if not shutil.which('redis-server'):
        print('1..0 # SKIP no redis-server here; install the package redis-server')
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = Result()
    suite.run(result)
    print(f'1..{result.count}')
    return 0


if __name__ == '__main__':
    sys.exit(main())

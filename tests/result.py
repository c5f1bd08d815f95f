"""result.py - the results of unittest as TAP"""
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

"""result.py - the results of unittest as TAP"""
import atexit
import os
import shutil
import sys
import tempfile
import unittest


def draw_the_same():
    """Let this process and those that it starts draw the same random numbers in every run, if $SAME_RANDOM says by what."""
    library = os.environ.get('SAME_RANDOM')
    if not library or not os.path.exists(library):
        return
    if os.environ.get('LD_PRELOAD') != library:    # it must be there when a process starts
        os.environ['LD_PRELOAD'] = library
        os.execv(sys.executable, sys.orig_argv)
    os.environ['SAME_RANDOM_RUNS'] = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, os.environ['SAME_RANDOM_RUNS'], ignore_errors=True)


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

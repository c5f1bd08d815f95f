"""run.py - the tests of the module of Redis, as TAP, each file against a real server

usage: run.py SOURCE MODULE PROGRAM TEST-MODULE

$BLOOMERY_REDIS_SERVER is another server than redis-server, for example one of Valkey.
"""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result import Result, draw_the_same  # noqa: E402


def main():
    draw_the_same()
    source, os.environ['BLOOMERY_REDIS_MODULE'], os.environ['BLOOMERY_PROGRAM'], name = sys.argv[1:]
    os.environ['BLOOMERY_SOURCE'] = source
    if not (os.environ.get('BLOOMERY_REDIS_SERVER') or shutil.which('redis-server')):
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

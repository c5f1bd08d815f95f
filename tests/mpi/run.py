"""run.py - the tests of bloomery-mpi, as TAP

usage: run.py MPI-PROGRAM PROGRAM TEST-MODULE

MPI-PROGRAM is empty where the build has none. The library of MPI can also be there without a program that starts ranks.
"""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result import Result  # noqa: E402

LAUNCHERS = 'mpirun.openmpi', 'mpirun', 'mpiexec.mpich', 'mpiexec.hydra', 'mpiexec'


def main():
    os.environ['BLOOMERY_MPI'], os.environ['BLOOMERY_PROGRAM'], name = sys.argv[1:]
    if not sys.argv[1]:
        print('1..0 # SKIP built without MPI; install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich')
        return 0
    if not any(shutil.which(launcher) for launcher in LAUNCHERS):
        print('1..0 # SKIP nothing starts ranks; install openmpi-bin or mpich')
        return 0
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = Result()
    suite.run(result)
    print(f'1..{result.count}')
    return len(result.failures) + len(result.errors) > 0


sys.exit(main())

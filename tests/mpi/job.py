"""job.py - what the tests of bloomery-mpi share: a folder, input, jobs of several ranks"""
import gzip
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

MPI, PROGRAM = os.environ['BLOOMERY_MPI'], os.environ['BLOOMERY_PROGRAM']
FULL = os.environ.get('BLOOMERY_TEST_SCALE') == 'full'
VERSION = subprocess.run([MPI, '--version'], capture_output=True, text=True, check=True,
                         env={**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}).stdout
MPICH = 'MPICH' in VERSION
# Ranks are more than processors, so a rank that waits must give its processor away. Only this machine takes part, and a search for
# other networks takes 0.15 s.
SETTINGS = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'OMPI_MCA_mpi_yield_when_idle': '1',
            'OMPI_MCA_btl': 'self,vader', 'OMPI_MCA_pml': 'ob1', 'OMPI_MCA_plm': 'isolated', 'LC_ALL': 'C'}


def program_of(*names):
    for name in names:
        if shutil.which(name):
            return name
    raise FileNotFoundError(f'none of {names}, which start the ranks')


def launcher(ranks):
    if MPICH:
        return [program_of('mpiexec.mpich', 'mpiexec.hydra', 'mpiexec'), '-n', str(ranks)]
    return [program_of('mpirun.openmpi', 'mpirun'), '--oversubscribe', '-n', str(ranks)]


class Case(unittest.TestCase):
    def setUp(self):
        # short, since OpenMPI makes sockets below it
        self.folder = tempfile.mkdtemp(prefix='bm', dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None)
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, **SETTINGS, 'TMPDIR': self.folder, 'OMPI_MCA_btl_vader_backing_directory': self.folder,
                            'BLOOMERY_STORE': self.path('store')}

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, ranks, *words, before=()):
        """before: words that start the program of each rank."""
        return subprocess.Popen([*launcher(ranks), *before, MPI, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ranks(self, ranks, *words, code=0, before=()):
        """A job that ends with that code. Its stdout and stderr."""
        job = self.start(ranks, *words, before=before)
        out, err = job.communicate()
        # mpirun of OpenMPI 4.1.4 crashes now and then while it passes on the notice that a rank called MPI_Abort()
        if not (code and job.returncode == -signal.SIGSEGV and 'orte_' in err):
            self.assertEqual(job.returncode, code, f'{ranks} ranks: {words}\n{out}{err}')
        return out, err

    def failure(self, ranks, *words, code=2, before=()):
        """The stderr of a job that a rank ends. Launchers lose the last words of such a rank now and then."""
        for _ in range(5):
            _, err = self.ranks(ranks, *words, code=code, before=before)
            if 'bloomery-mpi: ' in err:
                break
        return err

    def bloomery(self, *words):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, env=self.environment, check=True, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL).stdout

    def data(self, name):
        """The data of a filter, as format-spec.md says: the first entry of the part table has their place."""
        with open(self.path(name), 'rb') as file:
            file.seek(8192)
            at, count = struct.unpack('<QQ', file.read(16))
            file.seek(at)
            return file.read(count)

    def write(self, name, lines, pack=None, end=b'\n'):
        text = b'\n'.join(lines) + end if lines else b''
        with open(self.path(name), 'wb') as file:
            file.write(gzip.compress(text) if pack == 'gz' else text)
        if pack == 'zst':
            subprocess.run(['zstd', '-q', '--rm', '-f', self.path(name), '-o', self.path(name + '.zst')], check=True)
            os.rename(self.path(name + '.zst'), self.path(name))
        return name

    def lines_of(self, pattern, ranks):
        """The lines that the ranks wrote."""
        lines = []
        for rank in range(ranks):
            with open(self.path(pattern.replace('%r', str(rank))), 'rb') as file:
                text = file.read()
            self.assertTrue(not text or text.endswith(b'\n'))
            lines += text.splitlines()
        return lines


def numbers(first, last):
    return [b'key %d' % i for i in range(first, last)]

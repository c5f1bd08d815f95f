"""test_tasks.py - ranks of mpirun do the tasks of array jobs: a corpus in partitions, and parts of a filter"""
import os
import signal
import subprocess
import time

from job import PROGRAM, Case, launcher, numbers

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/examples')
RANKS = 3


class Tasks(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('bin'))
        os.symlink(PROGRAM, self.path('bin/bloomery'))
        self.environment['PATH'] = self.path('bin') + ':' + self.environment['PATH']

    def script(self, name, *words):
        subprocess.run(['bash', f'{EXAMPLES}/slurm/{name}.sbatch', *words], cwd=self.folder, env=self.environment, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def tasks(self, name, *words):
        return subprocess.Popen([*launcher(RANKS), 'bash', f'{EXAMPLES}/mpi-task.sh', f'{EXAMPLES}/slurm/{name}.sbatch', *words],
                                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def done(self, job):
        said, _ = job.communicate()
        self.assertEqual(job.returncode, 0, said)

    def of_partition(self, part):
        """The process that does it, if there is one."""
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    words = file.read().split(b'\0')
                if b'--partition' in words and f'{part}/{RANKS}'.encode() in words and os.readlink(f'/proc/{pid}/cwd') == self.folder:
                    return int(pid)
            except OSError:
                pass
        return 0

    def kill_one(self, job):
        """The rank with partition 2, when it has claimed something."""
        while job.poll() is None:
            pid = self.of_partition(2)
            if pid and os.path.exists(self.path('found/2.blm')):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                break
            time.sleep(0.002)
        job.communicate()

    def test_a_killed_corpus_of_ranks_equals_one_machines(self):
        for name, first in ('a.jsonl', 0), ('b.jsonl', 3000):
            self.write(name, [b'{"text":"line %d"}' % (i % 4000) for i in range(first, first + 6000)])
        one = [PROGRAM, 'corpus', 'dedup', '-F', './one', '--create', '-n', '10k', '-p', '1e-9', '-q', '-o', 'one.out', 'a.jsonl', 'b.jsonl']
        said = subprocess.run(one, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        if 'built without' in said.stderr:
            self.skipTest('the program reads no JSON')
        self.assertEqual(said.returncode, 0, said.stderr)
        words = 'found', str(RANKS), '30000', 'document', 'a.jsonl', 'b.jsonl'
        self.kill_one(self.tasks('corpus', *words))
        self.done(self.tasks('corpus', *words))
        self.done(self.tasks('corpus-merge', 'found', str(RANKS), 'clean', *words[3:]))
        kept = []
        for name in 'a.jsonl', 'b.jsonl':
            with open(self.path('clean/' + name), 'rb') as ours, open(self.path('one.out/' + name), 'rb') as theirs:
                lines = ours.read()
                self.assertEqual(lines, theirs.read())
                kept += lines.splitlines()
        self.assertEqual(len(kept), 4000)
        self.assertEqual(len(set(kept)), 4000)

    def test_ranks_that_build_parts_make_one_machines_filter(self):
        self.write('keys', numbers(0, 20000))
        self.bloomery('build', './one', '-n', '100k', '-p', '0.001', '--seed', '42', 'keys')
        self.done(self.tasks('partition', './F', str(RANKS), '100k', 'keys'))
        self.script('join', './F', str(RANKS), './many')
        self.assertEqual(self.data('one'), self.data('many'))

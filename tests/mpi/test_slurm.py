"""test_slurm.py - the examples of tools/examples/slurm, run by a real Slurm of one machine on the loopback"""
import os
import shutil
import socket
import subprocess
import time
import unittest

from job import MPI, PROGRAM, Case, numbers

DAEMONS = 'munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue'
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/examples/slurm')

# config_overrides: the machine may have fewer processors than CPUs says. NoInAddrAny: only the loopback.
CONF = '''ClusterName=one
SlurmctldHost={name}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={controller}
SlurmdPort={node}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
NodeName={name} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes={name} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Slurm(Case):
    def setUp(self):
        missing = [name for name in DAEMONS if not shutil.which(name)]
        if missing or os.getuid():
            reason = 'only root can start it' if not missing else 'no ' + missing[0]
            if os.environ.get('BLOOMERY_SLURM') == 'wanted':
                self.fail(reason)
            raise unittest.SkipTest(f'no Slurm: {reason}; install slurmctld, slurmd, slurm-client and munge')
        super().setUp()
        self.daemons = []
        self.addCleanup(self.stop)
        self.environment.update(SLURM_CONF=self.path('slurm.conf'), PATH=os.pathsep.join(
            [os.path.dirname(PROGRAM), os.path.dirname(MPI), os.environ['PATH'], '/usr/sbin']),
            OMPI_MCA_rmaps_base_oversubscribe='1', OMPI_MCA_plm='')
        del self.environment['OMPI_MCA_plm']
        self.begin()

    def begin(self):
        for name in 'state', 'spool':
            os.mkdir(self.path(name))
        with open(os.open(self.path('munge.key'), os.O_WRONLY | os.O_CREAT, 0o400), 'wb') as file:
            file.write(os.urandom(1024))
        with open(self.path('slurm.conf'), 'w') as file:
            file.write(CONF.format(name=socket.gethostname().split('.')[0], folder=self.folder, controller=free_port(), node=free_port()))
        self.daemon('munged', '--foreground', '--force', *(f'--{option}={self.path("munge." + end)}' for option, end in (
            ('key-file', 'key'), ('socket', 'sock'), ('pid-file', 'pid'), ('log-file', 'log'), ('seed-file', 'seed'))))
        self.until(lambda: os.path.exists(self.path('munge.sock')))
        self.daemon('slurmctld', '-D', '-c', '-f', self.path('slurm.conf'))
        self.daemon('slurmd', '-D', '-f', self.path('slurm.conf'), '-N', socket.gethostname().split('.')[0])
        self.until(lambda: 'idle' in self.run_slurm('sinfo', '-h', '-o', '%t'))

    def daemon(self, *words):
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, cwd=self.folder))

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            daemon.wait()

    def until(self, holds):
        while not holds():
            for daemon in self.daemons:
                self.assertIsNone(daemon.poll(), daemon.args)
            time.sleep(0.2)

    def run_slurm(self, *words):
        return subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True).stdout

    def submit(self, script, *words, options=()):
        out = self.run_slurm('sbatch', '--parsable', '--output', self.path('log-%j-%a'), *options, os.path.join(SCRIPTS, script), *words)
        self.assertRegex(out, r'^\d+$')
        return out.strip()

    def wait(self):
        self.until(lambda: not self.run_slurm('squeue', '-h').strip())
        return ''.join(open(self.path(name)).read() for name in sorted(os.listdir(self.folder)) if name.startswith('log-'))

    def whole(self, *files):
        self.bloomery('build', './one', '-n', '100k', '-p', '0.001', '--seed', '42', *files)
        return self.data('one')

    def test_the_examples_make_the_filter_that_one_machine_makes(self):
        files = [self.path(self.write(f'keys{i}', numbers(1000 * i, 1000 * i + 2000 + 10000 * (i == 2)))) for i in range(4)]
        whole = self.whole(*files)
        os.mkdir(self.path('made'))
        array = self.submit('build.sbatch', self.path('made'), '100k', *files, options=['--array=1-4'])
        self.submit('union.sbatch', self.path('made'), '4', self.path('united'), options=['--dependency=afterok:' + array])
        array = self.submit('partition.sbatch', self.path('part'), '3', '100k', *files, options=['--array=1-3'])
        self.submit('join.sbatch', self.path('part'), '3', self.path('joined'), options=['--dependency=afterok:' + array])
        self.submit('mpi-build.sbatch', self.path('many'), '100k', *files, options=['--ntasks=3'])
        log = self.wait()
        for name in 'united', 'joined', 'many':
            self.assertTrue(os.path.exists(self.path(name)), log)
            self.assertEqual(self.data(name), whole, name)

    def test_a_corpus_in_partitions_is_that_of_one_run(self):
        with open(self.path('a.jsonl'), 'w') as file:
            file.writelines(f'{{"text": "line {i % 400}"}}\n' for i in range(600))
        os.mkdir(self.path('found'))
        array = self.submit('corpus.sbatch', self.path('found'), '3', '5000', 'document', self.path('a.jsonl'), options=['--array=1-3'])
        self.submit('corpus-merge.sbatch', self.path('found'), '3', self.path('clean'), 'document', self.path('a.jsonl'),
                    options=['--dependency=afterok:' + array])
        log = self.wait()
        self.assertTrue(os.path.exists(self.path('clean/a.jsonl')), log)
        self.assertEqual(len(self.lines_of('clean/a.jsonl', 1)), 400)

    def test_a_requeued_corpus_loses_no_document_and_keeps_none_twice(self):
        names = []
        for number in range(4):
            names.append(self.path(f'{number}.jsonl'))
            with open(names[-1], 'w') as file:
                file.writelines(f'{{"text": "line {i % 70000}"}}\n' for i in range(number * 30000, number * 30000 + 60000))
        job = self.submit('mpi-corpus.sbatch', self.path('c'), '1m', 'document', *names, options=['--ntasks=3'])
        self.until(lambda: os.path.exists(self.path('c/clean')) or not self.run_slurm('squeue', '-h').strip())
        self.run_slurm('scontrol', 'requeue', job)
        self.until(lambda: not self.run_slurm('squeue', '-h', '-t', 'RUNNING,COMPLETING').strip())
        self.run_slurm('scontrol', 'update', 'jobid=' + job, 'starttime=now')
        log = self.wait()
        self.assertTrue(all(os.path.exists(self.path(f'c/clean/{number}.jsonl')) for number in range(4)), log)
        kept = [line for number in range(4) for line in self.lines_of(f'c/clean/{number}.jsonl', 1)]
        self.assertEqual(len(kept), len(set(kept)))
        self.assertLessEqual(70000 - len(kept), 10, log)

    def test_a_requeued_claim_resumes_and_repeats_no_line(self):
        file = self.path(self.write('keys', numbers(0, 300000) + numbers(0, 1000)))
        job = self.submit('mpi-claim.sbatch', self.path('c'), '3m', file, options=['--ntasks=3'])
        self.until(lambda: os.path.exists(self.path('c/new.2')) or not self.run_slurm('squeue', '-h').strip())
        self.run_slurm('scontrol', 'requeue', job)
        self.until(lambda: not self.run_slurm('squeue', '-h', '-t', 'RUNNING,COMPLETING').strip())
        self.run_slurm('scontrol', 'update', 'jobid=' + job, 'starttime=now')
        log = self.wait()
        written = self.lines_of('c/new.%r', 3)
        self.assertEqual(len(written), len(set(written)))
        self.assertLessEqual(300000 - len(written), 3 * 65536 + 300, log)
        self.ranks(2, 'claim', self.path('c/seen'), '-o', 'more.%r', file)
        self.assertEqual(self.lines_of('more.%r', 2), [])

"""test_claim.py - of all ranks exactly one writes a line, also after a rank was killed"""
import os
import random
import shutil
import signal
import time

from job import FULL, Case, numbers

LINES = 1000000 if FULL else 20000      # that a rank has
RUNS = 50 if FULL else 1
BATCH = 5000 if FULL else 500


class Claim(Case):
    def input(self, ranks, lines=LINES):
        """Each rank's file shares half of its lines with the next rank's."""
        step = lines // 2
        for rank in range(ranks):
            self.write(f'in.{rank}', numbers(rank * step, rank * step + lines))
        return set(numbers(0, (ranks + 1) * step))

    def claim(self, ranks, *words):
        return 'claim', './seen', '-o', 'new.%r', '--batch', str(BATCH), *words

    def create(self, capacity):
        return '--create', '-n', str(capacity), '-p', '0.0001', '--seed', '7'

    def no_line_twice_few_missing(self, written, all_of_them, lost=0):
        self.assertEqual(len(written), len(set(written)), 'a line was written twice')
        self.assertLessEqual(set(written), all_of_them)
        self.assertLessEqual(len(all_of_them) - len(written), lost + len(all_of_them) // 1000)

    def test_each_line_is_written_by_one_rank(self):
        all_of_them = self.input(4)
        self.ranks(4, *self.claim(4, *self.create(4 * LINES), 'in.%r'))
        written = self.lines_of('new.%r', 4)
        self.no_line_twice_few_missing(written, all_of_them)
        self.write('more', numbers(0, 1000) + [b'one more'])
        _, err = self.ranks(3, *self.claim(3, 'in.0', 'more', 'in.3'))
        self.assertIn(f'1 of {2 * LINES + 1001} lines were new', err)
        self.assertEqual(sorted(self.lines_of('new.%r', 4)), sorted(written + [b'one more']))

    def test_a_folder_of_parts_answers_as_one_filter(self):
        self.write('keys', numbers(0, 3000))
        self.write('asked', numbers(2500, 9000))
        for hash, kind in ('xxh3', 'blocked'), ('xxh3', 'split-block'):
            self.ranks(2, 'claim', './' + kind, '--parts', '5', '--kind', kind, '--hash', hash, *self.create(100000), '-o', 'n.%r', 'keys')
            self.bloomery('build', './one-' + kind, '--kind', kind, '--hash', hash, '-n', '100000', '-p', '0.0001', '--seed', '7', 'keys')
            self.bloomery('join', *(f'./{kind}/keys.part-{i}-of-5' for i in range(1, 6)), '-o', './joined-' + kind)
            self.assertEqual(self.data('joined-' + kind), self.data('one-' + kind))
        yes = self.bloomery('test', './one-blocked', 'asked').splitlines()
        for filter, ranks in ('./blocked', 3), ('./one-blocked', 2):
            self.ranks(ranks, 'test', filter, '-o', 't.%r', 'asked')
            self.assertEqual(sorted(line.decode() for line in self.lines_of('t.%r', ranks)), sorted(yes))
        out, _ = self.ranks(2, 'test', './blocked', '-c', '-v', 'asked')
        self.assertEqual(int(out), 6500 - len(yes))

    def processes(self):
        """Those of this test's ranks."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    words = file.read().split(b'\0')
                if words[0] == os.environ['BLOOMERY_MPI'].encode() and os.readlink(f'/proc/{pid}/cwd') == self.folder:
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def kill_one_in_the_middle(self, job, written_before, luck):
        """As soon as lines come, and then at some moment. False: the job had ended."""
        while job.poll() is None:
            if sum(os.path.getsize(self.path(name)) for name in os.listdir(self.folder) if name.startswith('new.')) > written_before:
                time.sleep(luck.random() * 0.05)
                running = sorted(self.processes())
                for pid in luck.sample(running, min(1, len(running))):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    job.communicate()
                    return job.returncode != 0
            time.sleep(0.002)
        job.communicate()
        return False

    def test_a_resumed_job_loses_at_most_one_batch(self):
        luck = random.Random(30)
        all_of_them = self.input(4)
        for _ in range(RUNS):
            kills = written = 0
            shutil.rmtree(self.path('seen'), ignore_errors=True)
            for rank in range(4):
                self.write(f'new.{rank}', [])
            words = self.claim(4, *self.create(4 * LINES), 'in.%r')
            for _ in range(2):
                kills += self.kill_one_in_the_middle(self.start(4, *words), written, luck)
                written = sum(os.path.getsize(self.path(f'new.{rank}')) for rank in range(4))
            self.ranks(4, *words)
            self.no_line_twice_few_missing(self.lines_of('new.%r', 4), all_of_them, lost=4 * BATCH * kills)

    def parent(self, pid):
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            return int(file.read().rpartition(')')[2].split()[1])

    def rank_of(self, pid):
        with open(f'/proc/{pid}/environ', 'rb') as file:
            words = dict(word.split(b'=', 1) for word in file.read().split(b'\0') if b'=' in word)
        return int(words.get(b'OMPI_COMM_WORLD_RANK') or words[b'PMI_RANK'])

    def test_a_rank_that_outlives_its_job_keeps_its_part(self):
        self.write('many', numbers(0, 20000))
        for rank in range(2):
            os.mkfifo(self.path(f'pipe.{rank}'))
        job = self.start(2, 'claim', './seen', *self.create(40000), '-o', 'pipe.%r', 'many')
        ends = [open(self.path(f'pipe.{rank}'), 'rb', buffering=0) for rank in range(2)]
        for end in ends:
            end.read(1)     # the rank has its locks and writes more than a pipe holds, so it stays there
        ranks = {self.rank_of(pid): pid for pid in self.processes()}
        stopped = {job.pid, ranks[1], *map(self.parent, ranks.values())}     # no launcher ends the rank
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        os.kill(ranks[0], signal.SIGKILL)
        self.write('keys', numbers(20000, 20100))
        self.write('new.1', [b'a part of a li'], end=b'')     # the rank may write the rest of it
        following = self.start(2, 'claim', './seen', '-o', 'new.%r', 'keys')
        try:
            said = ''
            while 'waiting' not in said:
                line = following.stderr.readline()
                self.assertTrue(line, f'the next job does not wait: {said}')
                said += line
            self.assertIn('keys.part-2-of-2: is locked by a rank of another job', said)
            with open(self.path('new.1'), 'rb') as file:
                self.assertEqual(file.read(), b'a part of a li')
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
            job.communicate()
            for end in ends:
                end.close()
        _, err = following.communicate()
        self.assertEqual(following.returncode, 0, err)
        self.assertEqual(sorted(self.lines_of('new.%r', 2)), sorted(numbers(20000, 20100)))

    def test_foreign_and_missing_parts_are_refused_with_the_field(self):
        self.write('keys', numbers(0, 100))
        for name, seed in ('seen', '7'), ('other', '8'):
            self.ranks(1, 'claim', './' + name, '--parts', '3', '--create', '-n', '1k', '--seed', seed, '-o', 'n.%r', 'keys')
        self.bloomery('build', './whole', '-n', '1k', '--seed', '7', 'keys')
        part = self.path('seen/keys.part-2-of-3')
        os.rename(part, self.path('kept'))
        for source, says in (('other/keys.part-2-of-3', 'template_id'), ('seen/keys.part-3-of-3', 'split_part'), ('whole', 'split_parts'), (None, 'no such filter'),
                             ('keys', 'not a')):
            if source:
                shutil.copy(self.path(source), part)
            err = self.failure(2, 'claim', './seen', '-o', 'n.%r', 'keys')
            self.assertIn('keys.part-2-of-3', err)
            self.assertIn(says, err)
            if source:
                os.unlink(part)
        os.rename(self.path('kept'), part)
        os.rename(self.path('seen/keys.part-3-of-3'), self.path('seen/keys.part-3-of-4'))
        err = self.failure(2, 'claim', './seen', '-o', 'n.%r', 'keys')
        self.assertIn('files of 4 parts', err)

    def test_a_lock_that_is_a_link_is_refused(self):
        self.write('keys', numbers(0, 100))
        words = 'claim', './seen', '-o', 'n.%r', 'keys'
        self.ranks(1, *words, *self.create(1000))
        lock = self.path('seen/lock')
        os.unlink(lock)
        os.symlink(self.path('elsewhere'), lock)
        err = self.failure(2, *words)
        self.assertIn('seen/lock: is a symbolic link; delete it', err)
        self.assertFalse(os.path.exists(self.path('elsewhere')))
        os.unlink(lock)
        self.ranks(2, *words)

    def test_parts_are_split_anew_for_more_ranks(self):
        self.write('old', numbers(0, 1000))
        self.write('new', numbers(500, 1500))
        self.ranks(1, 'claim', './seen', '--parts', '2', '--create', '-n', '100k', '--seed', '7', '-o', 'n.%r', 'old')
        self.bloomery('join', './seen/keys.part-1-of-2', './seen/keys.part-2-of-2', '-o', './whole')
        os.mkdir(self.path('more'))
        self.bloomery('split', './whole', '--into', '12', '-o', './more/keys')
        self.ranks(3, 'claim', './more', '-o', 'm.%r', 'new')
        self.assertEqual(sorted(self.lines_of('m.%r', 3)), sorted(numbers(1000, 1500)))

    def test_lines_of_ranks_that_would_mix_are_refused(self):
        self.write('keys', numbers(0, 10))
        err = self.failure(2, 'claim', './seen', '--create', '-n', '10', 'keys', code=64)
        self.assertIn('-o out.%r', err)
        self.assertFalse(os.path.exists(self.path('seen')))

    def test_what_all_ranks_find_wrong_is_said_once(self):
        self.write('keys', numbers(0, 10))
        err = self.failure(3, 'claim', './seen', '--create', '-o', 'n.%r', 'keys', code=64)
        self.assertEqual(err.count('a new filter needs its capacity'), 1)

    def test_a_folder_may_be_named_with_slashes(self):
        self.write('keys', numbers(0, 10))
        self.ranks(2, 'claim', './seen//', *self.create(1000), '-o', 'n.%r', 'keys')
        self.assertEqual(self.ranks(1, 'test', './seen', '-c', 'keys')[0], '10\n')

    def test_lines_are_not_written_over_input(self):
        self.input(2, lines=1000)
        self.write('keys', numbers(0, 10))
        self.ranks(2, 'claim', './seen', *self.create(1000), '-o', 'n.%r', 'keys')
        os.link(self.path('in.1'), self.path('other.1'))
        for command, out in ('test', 'in.%r'), ('claim', 'in.%r'), ('test', 'other.%r'):
            err = self.failure(2, command, './seen', '-o', out, 'in.%r')
            self.assertIn(f'-o {out}: is in.%r, which is read', err)
        os.symlink('in.1', self.path('next.0'))     # rank 0 would write over what rank 1 reads
        for command in 'test', 'claim':
            self.assertIn('-o next.%r: is in.%r, which is read', self.failure(2, command, './seen', '-o', 'next.%r', 'in.%r'))
        self.assertEqual(self.lines_of('in.%r', 2), numbers(0, 1000) + numbers(500, 1500))
        os.symlink('seen/lock', self.path('linked'))
        for out, file in ('seen/keys.part-1-of-2', 'keys.part-1-of-2'), ('linked', 'lock'):
            err = self.failure(1, 'test', './seen', '-o', out, 'keys')
            self.assertIn(f'-o {out}: is {file} in ./seen, which the filter needs', err)
        self.assertEqual(self.ranks(2, 'test', './seen', '-c', 'keys')[0], '10\n')

    def test_lines_are_not_written_over_a_filter_or_its_secret(self):
        self.write('keys', numbers(0, 10))
        self.bloomery('build', './whole', '-n', '1k', '--hash', 'siphash', 'keys')
        self.bloomery('build', 'named', '-n', '1k', '--hash', 'siphash', 'keys')
        store = self.path('store')
        files = [f'{store}/filters/{name}' for name in os.listdir(f'{store}/filters')] + [f'{store}/keys/{name}' for name in os.listdir(f'{store}/keys')]
        self.assertEqual(len(files), 2)
        for filter, out in ('./whole', 'whole'), ('./whole', 'whole.key'), ('named', files[0]), ('named', files[1]):
            self.assertIn('which the filter needs', self.failure(1, 'test', filter, '-o', out, 'keys'))
        for filter in './whole', 'named':
            self.assertEqual(self.bloomery('test', filter, '-c', 'keys'), '10\n')

    def test_a_refused_job_changes_no_output(self):
        self.write('keys', numbers(0, 10))
        for rank in 0, 1:
            self.write(f'out.{rank}', [b'precious'])
        self.bloomery('build', './whole', '-n', '1k', 'keys')
        for words in ('./whole', 'out.0'), ('./none', 'keys'), ('./whole', 'keys', 'nothing'):
            self.failure(2, 'test', words[0], '-o', 'out.%r', *words[1:])
            self.assertEqual(self.lines_of('out.%r', 2), [b'precious'] * 2)
        self.assertIn('No such file', self.failure(1, 'test', './whole', '-o', 'made.%r', 'made.0'))

    def test_a_job_that_writes_into_the_folder_is_resumed(self):
        self.write('keys', numbers(0, 10))
        for _ in range(2):
            self.ranks(2, 'claim', './seen', *self.create(1000), '-o', './seen/new.%r', 'keys')
        self.assertEqual(sorted(self.lines_of('seen/new.%r', 2)), sorted(numbers(0, 10)))

    def test_a_part_cut_under_the_ranks_is_named(self):
        self.write('many', numbers(0, 40000))
        os.mkfifo(self.path('pipe.0'))
        for _ in range(3):      # the launcher may lose the words
            shutil.rmtree(self.path('seen'), ignore_errors=True)
            job = self.start(1, *self.claim(1, *self.create(40000), '-o', 'pipe.%r', 'many'))
            with open(self.path('pipe.0'), 'rb', buffering=0) as end:
                end.read(1)     # more lines follow than a pipe holds, so keys are claimed after the cut
                os.truncate(self.path('seen/keys.part-1-of-1'), 20480)
                while end.read(65536):
                    pass
            _, err = job.communicate()
            self.assertNotEqual(job.returncode, 0)
            if 'bloomery-mpi: ' in err:
                break
        self.assertIn('seen/keys.part-1-of-1: I/O error on the mapped file', err)

"""test_build.py - filters that the ranks build are those that one machine builds"""
import os
import re

from job import FULL, Case, numbers

KINDS = [('blocked', 'owners', []), ('blocked', 'reduce', []), ('split-block', 'owners', ['--hash', 'xxh3']),
         ('split-block', 'reduce', []), ('classic', 'reduce', []), ('classic', 'reduce', ['--hash', 'mm3_64', '-k', '6']),
         ('counting', None, [])]
SOME = [(0, 3), (2, 2), (5, 3), (6, 2)]     # of the kinds, with that number of ranks
ALL = [(kind, ranks) for kind in range(len(KINDS)) for ranks in (1, 2, 3, 4, 8)]


class Build(Case):
    def input(self):
        """Plain and packed files whose sizes differ a hundred times, empty ones, and a last line without its end."""
        return [self.write('large', numbers(0, 60000)), self.write('small', numbers(60000, 60500), end=b''), self.write('none', []),
                self.write('packed.gz', numbers(50000, 80000), 'gz'), self.write('packed.zst', numbers(90000, 91000), 'zst'),
                self.write('void.gz', [], 'gz'), self.write('long', [b'x' * 700000, b'y' * 10, b'', b'\0'])]

    def test_any_number_of_ranks_makes_one_machines_data(self):
        files = self.input()
        for number, ranks in ALL if FULL else SOME:
            kind, way, more = KINDS[number]
            seeds = [] if kind == 'split-block' and not more else ['--seed', '42'] if more != KINDS[5][2] else \
                [word for i in range(6) for word in ('--seed', str(i + 1))]
            words = ['--kind', kind, '-n', '100k', '-p', '0.001', *seeds, *more, '--force']
            self.bloomery('build', './one', *words, *files)
            out, _ = self.ranks(ranks, 'build', './many', *words, *(['--way', way] if way else []), *files)
            self.assertEqual(self.data('one'), self.data('many'), (kind, way, ranks))
            self.assertIn('91,504 keys read', out)
            if way == 'owners':
                self.counts_are_near()
                self.assertLessEqual(self.bytes_a_key(out), 17)
        self.assertEqual(self.bloomery('test', './many', '-c', *files), '91504\n')

    def test_kinds_built_by_one_rank_equal_one_machines(self):
        files = self.input()
        cases = [(kind, ranks) for kind in ('fuse', 'ribbon', 'golomb', 'cuckoo') for ranks in (1, 2, 3, 4, 8)]
        for kind, ranks in cases if FULL else (('fuse', 3), ('cuckoo', 2)):
            words = ['--kind', kind, '-p', '0.001', '--seed', '42', '--force']
            self.bloomery('build', './one', *words, *files)
            out, _ = self.ranks(ranks, 'build', './many', *words, *files)
            self.assertEqual(self.data('one'), self.data('many'), (kind, ranks))
            self.assertIn(f'{ranks} ranks, gather: 91,504 keys read', out)
        self.ranks(3, 'build', './many', '--kind', 'cuckoo', '-n', '100k', '--seed', '42', '--force', *files)
        self.assertEqual(self.bloomery('test', './many', '-c', *files), '91504\n')

    def bytes_a_key(self, out):
        return float(re.search(r' sent, ([\d.]+) bytes a key', out).group(1))

    def test_a_bitmap_has_the_bits_of_one_machine(self):
        files = [self.write('some', [b'%d' % i for i in range(0, 90000, 7)]), self.write('none', []),
                 self.write('more.gz', [b'%d' % i for i in range(0, 90000, 11)], 'gz')]
        for ranks, way in [(r, w) for r in (1, 2, 3, 4, 8) for w in ('owners', 'reduce')] if FULL else [(3, 'owners')]:
            words = ['--kind', 'bitmap', '-n', '90000', '--force']
            self.bloomery('build', './one', *words, *files)
            self.ranks(ranks, 'build', './many', *words, '--way', way, *files)
            self.assertEqual(self.data('one'), self.data('many'), (way, ranks))

    def counts_are_near(self):
        """The order of the keys decides which of them is a false positive when it comes, so the counts differ by few."""
        counts = [int(re.search(r'^ *keys +(\d+)$', self.bloomery('info', './' + name), re.M).group(1)) for name in ('one', 'many')]
        self.assertLess(abs(counts[0] - counts[1]), 200)

    def test_ranks_without_input_make_an_empty_filter(self):
        self.write('none', [])
        self.write('three', numbers(0, 3))
        self.bloomery('build', './one', '-n', '1k', '--seed', '1', 'three')
        self.ranks(4, 'build', './many', '-n', '1k', '--seed', '1', '--way', 'owners', 'none', 'three')
        self.assertEqual(self.data('one'), self.data('many'))

    def test_each_rank_reads_the_files_of_its_number(self):
        self.write('part.0', numbers(0, 500))
        self.write('part.1', numbers(500, 900), 'gz')
        self.write('all', numbers(0, 900))
        self.bloomery('build', './one', '-n', '1k', '--seed', '1', 'all')
        self.ranks(2, 'build', './many', '-n', '1k', '--seed', '1', 'part.%r')
        self.assertEqual(self.data('one'), self.data('many'))

    def test_a_failing_rank_ends_the_job_without_a_file(self):
        self.write('good', numbers(0, 1000))
        self.write('cut.gz', numbers(0, 100000), 'gz')
        os.truncate(self.path('cut.gz'), os.path.getsize(self.path('cut.gz')) // 2)
        before = set(os.listdir(self.folder))
        for way in 'owners', 'reduce':
            err = self.failure(3, 'build', './many', '-n', '1m', '--way', way, 'good', 'cut.gz')
            self.assertIn('cut.gz: cannot be unpacked as gzip: cut short', err)
        self.assertEqual({name for name in os.listdir(self.folder) if 'openmpi' not in name and 'ompi' not in name}, before)

    def test_a_file_that_is_shorter_elsewhere_ends_the_job(self):
        for machine, last in (0, 60000), (1, 100), (2, 40000):
            os.mkdir(self.path(f'machine{machine}'))
            self.write(f'machine{machine}/keys', numbers(0, last))
        before = 'sh', '-c', 'cd "machine${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$@"', 'sh'
        for ranks in 2, 3:
            err = self.failure(ranks, 'build', self.path('many'), '-n', '100k', '--way', 'owners', 'keys', before=before)
            self.assertRegex(err, r'rank [12]: keys: ends before byte \d+, which it had when its parts were given to the ranks')
            self.assertFalse(os.path.exists(self.path('many')))

    def test_a_file_cut_inside_a_line_elsewhere_ends_the_job(self):
        for machine in 0, 1, 2:
            os.mkdir(self.path(f'machine{machine}'))
            self.write(f'machine{machine}/keys', [b'%0999d' % i for i in range(31)])
        os.truncate(self.path('machine1/keys'), 20800)      # rank 1 reads up to the line with bytes 20000 to 20999
        before = 'sh', '-c', 'cd "machine${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$@"', 'sh'
        err = self.failure(3, 'build', self.path('many'), '-n', '100k', 'keys', before=before)
        self.assertIn('rank 1: keys: ends before byte 31000, which it had when its parts were given to the ranks', err)
        self.assertFalse(os.path.exists(self.path('many')))

    def test_what_the_ranks_cannot_build_is_refused_with_words(self):
        self.write('keys', numbers(0, 10))
        for words, says in ((['-n', '10', '--kind', 'bloomier', 'keys'], 'bloomier: the ranks send hashes, which have no values'),
                            (['-n', '10', '--kind', 'stable', 'keys'], 'stable: the ranks build no such filter'),
                            (['--kind', 'fuse', '--way', 'reduce', 'keys'], 'leave out --way'),
                            (['--kind', 'fuse', '--dry-run', 'keys'], 'give -n'),
                            (['keys'], 'a new filter needs its capacity'),
                            (['-n', '10'], 'name the files with the keys'),
                            (['-n', '10', '--kind', 'classic', '--way', 'owners', 'keys'], 'so no rank owns them'),
                            (['-n', '10', '--hash', 'siphash', 'keys'], 'all ranks need one secret')):
            err = self.failure(2, 'build', './many', *words, code=64)
            self.assertIn(says, err)
            self.assertEqual(err.count(says), 1)
        self.assertFalse(os.path.exists(self.path('many')))

    def test_a_dry_run_states_way_bytes_and_memory(self):
        for ranks, way in (2, 'reduce'), (64, 'owners'):
            out, _ = self.ranks(2, 'build', './many', '-n', '10m', '-p', '0.001', '--dry-run', '--ranks', str(ranks))
            self.assertEqual(re.findall(r'^\* (\w+): .* sent, .* bytes a key; .* of memory a rank$', out, re.M), [way], out)
        out, _ = self.ranks(1, 'build', './many', '-n', '10m', '--kind', 'golomb', '--dry-run', '--ranks', '64')
        self.assertIn('rank 0 also takes up to 1.00 GiB for the hashes', out)
        self.assertFalse(os.path.exists(self.path('many')))

    def test_the_progress_line_shows_a_rank_with_a_slow_disk(self):
        slow = os.environ.get('BLOOMERY_SLOW')
        if not slow:
            self.skipTest('there is no library that makes a disk slow; build with -Dtests=enabled')
        self.write('keys.0', numbers(0, 5000))
        self.write('keys.1', numbers(5000, 6000))
        before = 'env', 'LD_PRELOAD=' + slow
        _, err = self.ranks(2, 'build', './many', '-n', '10k', '--way', 'owners', '--progress', 'keys.%r', before=before)
        self.assertRegex(err, r'6,000 keys read; the slowest is rank 1: 1,000 keys in [1-9]\d*0\.0 s of reading and hashing; '
                              r'the quickest is rank 0: 5,000 keys in 0\.0 s')
        _, err = self.ranks(2, 'build', './many', '-n', '10k', '--way', 'reduce', '--progress', '--force', 'keys.%r', before=before)
        self.assertRegex(err, r'rank 1: 1,000 keys read; reading took [1-9]\d*0\.0 s')
        self.assertIn('rank 0: 5,000 keys read; reading took 0.0 s', err)

    def test_the_union_of_files_is_that_of_one_machine(self):
        names = []
        for i in range(5):
            self.write(f'keys{i}', numbers(1000 * i, 1000 * i + 1500))
            names.append(f'./f{i}')
            self.bloomery('build', names[-1], '-n', '10k', '--seed', '5', f'keys{i}')
        self.bloomery('union', *names, '-o', './one')
        self.ranks(3, 'union', '-o', './many', *names)
        self.assertEqual(self.data('one'), self.data('many'))
        self.bloomery('create', './other', '-n', '10k', '--seed', '6')
        err = self.failure(2, 'union', '-o', './wrong', *names, './other')
        self.assertIn('./other: it does not have the template of ./f0', err)
        self.assertFalse(os.path.exists(self.path('wrong')))
        self.bloomery('split', './f4', '--into', '2')
        err = self.failure(2, 'union', '-o', './wrong', *names[:4], './f4.part-2-of-2')
        self.assertIn('./f4.part-2-of-2: part 2 of 2 of a filter, which lacks the keys of the other parts', err)
        self.assertFalse(os.path.exists(self.path('wrong')))
        with open(self.path('f4'), 'r+b') as file:
            data = self.data('f4')
            file.seek(os.path.getsize(self.path('f4')) - len(data))
            file.write(bytes(300))
        err = self.failure(2, 'union', '-o', './wrong', *names)
        self.assertIn('./f4: is damaged', err)
        self.assertFalse(os.path.exists(self.path('wrong')))

    def test_a_key_between_lines_that_are_skipped_is_kept(self):
        # a block has only lines that are skipped and the beginning of a key
        self.write('keys', [b'-'] * 131000 + [b'aa' * 1000] + [b'-'] * 131000 + [b'bb' * 1000])
        words = ['-n', '10', '--seed', '1', '--hex', '--skip-bad', 'keys']
        self.bloomery('build', './one', *words)
        _, err = self.ranks(1, 'build', './many', *words)
        self.assertEqual(self.data('one'), self.data('many'))
        self.assertIn('262000 lines without a key were skipped', err)

    def test_keys_come_from_files_only(self):
        self.write('keys', numbers(0, 10))
        self.failure(2, 'build', './many', '-n', '10', '--key', 'one more', 'keys')
        self.assertFalse(os.path.exists(self.path('many')))

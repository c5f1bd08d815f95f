"""test_corpus.py - of equal documents and paragraphs one stays on all ranks, also after ranks were killed"""
import gzip
import json
import os
import random
import shutil
import subprocess

from job import FULL, PROGRAM, Case

KILLS = 50 if FULL else 6
STEPS = 100         # that a rank has at least, by dies.c
PACKINGS = {'c': 'gz', 'd': 'zst'}


def text_of(line):
    return json.loads(line)['text']


def paragraphs_of(line):
    """Where the last ones are removed, the separator behind the one before stays."""
    return [paragraph for paragraph in text_of(line).split('\n') if paragraph]


class Corpus(Case):
    def setUp(self):
        super().setUp()
        luck = random.Random(5)
        self.lines = {}
        # sizes differ a hundred times; one file is empty
        for name, count in ('a', 1200), ('b', 700), ('c', 400), ('d', 300), ('e', 12), ('f', 0):
            self.lines[name] = [self.document(name, i, luck) for i in range(count)]
            self.write(name, self.lines[name], PACKINGS.get(name))
        said = subprocess.run([PROGRAM, 'corpus', 'count', self.path('e')], env=self.environment, capture_output=True, text=True, check=False)
        if 'built without' in said.stderr:
            self.skipTest('the program reads no JSON')
        self.assertEqual(said.returncode, 0, said.stderr)

    @staticmethod
    def document(name, number, luck):
        """A third of the documents are equal to others, and most paragraphs. Bytes outside of the text are as no writer of JSON has them."""
        paragraphs = [f'paragraph "{luck.randrange(900)}"' for _ in range(luck.randrange(1, 4))]
        return b'{ "id":"%s%d",\t"text": %s , "n" : 1e+0 }' % (name.encode(), number, json.dumps('\n'.join(paragraphs)).encode())

    def words(self, *more, batch=100):
        return ('corpus', 'dedup', '-F', './seen', '--create', '-n', '100k', '-p', '1e-12', '--seed', '7', '-o', 'out',
                '--batch', str(batch), *more, *self.lines)

    def output(self, name, folder='out'):
        with open(self.path(f'{folder}/{name}'), 'rb') as file:
            text = file.read()
        if PACKINGS.get(name) == 'gz':
            text = gzip.decompress(text)
        if PACKINGS.get(name) == 'zst':
            text = subprocess.run(['zstd', '-dc'], input=text, capture_output=True, check=True).stdout
        self.assertTrue(not text or text.endswith(b'\n'))
        return text.splitlines()

    def kept_once(self):
        """Each document that stays is a line of its input, in order, and each text stays once."""
        kept = []
        for name, lines in self.lines.items():
            found = iter(lines)
            for line in self.output(name):
                self.assertIn(line, found, f'{name}: not a line of the input, or out of order')
                kept.append(text_of(line))
        self.assertEqual(len(kept), len(set(kept)), 'a document stays twice')
        self.assertEqual(set(kept), {text_of(line) for lines in self.lines.values() for line in lines}, 'a document is lost')
        self.assertEqual({name for name in os.listdir(self.path('out')) if name.endswith('.claims')}, set(), 'a journal is left')

    def paragraphs_once(self):
        kept = []
        for name, lines in self.lines.items():
            found = iter(lines)
            for line in self.output(name):
                key = line[:line.index(b'\t')]
                before = next((other for other in found if other.startswith(key)), None)
                self.assertIsNotNone(before, f'{name}: {line} has no input, or is out of order')
                for part in (lambda s: s[:s.index(b'"paragraph')]), (lambda s: s[s.rindex(b'" ,'):]):
                    self.assertEqual(part(line), part(before), 'bytes outside of the text changed')
                ours, theirs = paragraphs_of(line), iter(paragraphs_of(before))
                self.assertTrue(all(paragraph in theirs for paragraph in ours), 'paragraphs are not those of the input, in order')
                kept += ours
        all_of_them = {paragraph for lines in self.lines.values() for line in lines for paragraph in paragraphs_of(line)}
        self.assertEqual(len(kept), len(set(kept)), 'a paragraph stays twice')
        self.assertEqual(set(kept), all_of_them, 'a paragraph is lost')

    def clear(self):
        for folder in 'seen', 'out':
            shutil.rmtree(self.path(folder), ignore_errors=True)

    def test_one_of_equal_documents_stays_with_any_number_of_ranks(self):
        for ranks in 1, 2, 3, 4:
            self.clear()
            out, _ = self.ranks(ranks, *self.words())
            self.kept_once()
            different = len({text_of(line) for lines in self.lines.values() for line in lines})
            self.assertIn(f'total\t2612 documents, {different} kept', out)
        _, err = self.ranks(3, *self.words())
        self.assertIn('6 of 6 files were finished before', err)
        self.kept_once()

    def test_one_of_equal_paragraphs_stays_without_other_changes(self):
        for ranks in 1, 3:
            self.clear()
            self.ranks(ranks, *self.words('--by', 'paragraph', '--report', 'report.json'))
            self.paragraphs_once()
        with open(self.path('report.json'), encoding='utf-8') as file:
            report = json.load(file)
        self.assertEqual([file['file'] for file in report['files']], list(self.lines))
        self.assertEqual(report['total']['documents_kept'], sum(len(self.output(name)) for name in self.lines))
        self.assertEqual(report['total']['units'] - report['total']['units_removed'],
                         sum(len(paragraphs_of(line)) for name in self.lines for line in self.output(name)))

    def test_one_rank_keeps_what_one_process_keeps(self):
        for by in 'document', 'paragraph':
            self.clear()
            self.ranks(1, *self.words('--by', by, '--annotate'))
            self.bloomery('corpus', 'dedup', '-F', './one-' + by, '--create', '-n', '100k', '-p', '1e-12', '-o', 'one', '--by', by,
                          '--annotate', *self.lines)
            for name in self.lines:
                self.assertEqual(self.output(name), self.output(name, 'one'), (by, name))
            shutil.rmtree(self.path('one'))

    def killed(self, ranks, rank, step, batch=100):
        """A job, one rank of which dies at that step. False: it ended before."""
        job = self.start(ranks, *self.words(batch=batch),
                         before=('env', 'LD_PRELOAD=' + os.environ['BLOOMERY_DIES'], f'DIES_RANK={rank}', f'DIES_STEP={step}'))
        job.communicate()
        return job.returncode != 0

    def test_no_document_is_lost_or_doubled_when_ranks_are_killed(self):
        luck = random.Random(31)
        kills = tries = 0
        while kills < KILLS and tries < 4 * KILLS:
            self.clear()
            for _ in range(luck.randrange(1, 5)):
                tries += 1
                ranks = luck.choice((2, 3))
                # with small batches, journals of finished files are deleted before the end
                if not self.killed(ranks, luck.randrange(ranks), luck.randrange(1, STEPS), luck.choice((20, 100, 100))):
                    break
                kills += 1
            self.ranks(luck.choice((1, 2, 4)), *self.words())
            self.kept_once()
        self.assertGreaterEqual(kills, KILLS, 'most jobs end before the step at which a rank dies')

    def test_no_document_is_doubled_when_parts_lose_unsynced_keys(self):
        """As after a power cut: the parts are as they were at the last sync."""
        words = self.words()
        self.ranks(2, *words[:-len(self.lines)], 'f')
        shutil.copytree(self.path('seen'), self.path('before'))
        self.assertTrue(self.killed(2, 1, STEPS // 2))
        shutil.rmtree(self.path('seen'))
        os.rename(self.path('before'), self.path('seen'))
        self.assertTrue(any(name.endswith('.claims') for name in os.listdir(self.path('out'))))
        self.ranks(2, *words)
        self.kept_once()

    def test_what_ranks_do_not_share_is_refused(self):
        for words, says in ((('--by', 'ngram'), '--partition I/N'), (('--partition', '1/2'), 'the ranks divide the keys themselves'),
                            (('--stride', '2'), "an option of 'bloomery corpus'"), (('--kind', 'classic'), 'no rank owns them')):
            err = self.failure(2, *self.words(*words), code=64)
            self.assertIn(says, err)
        for words, says in ((('index', '-F', './seen', 'a'), 'the ranks do dedup only'), (('dedup', '-F', './seen', 'a'), '-o DIR is needed'),
                            (('dedup', '-F', 'seen', '-o', 'out', 'a'), "write its path with a '/'"), (('dedup', 'a'), '-F F is needed'),
                            (('dedup', '-F', './seen', '-o', 'out'), 'name the files')):
            self.assertIn(says, self.failure(1, 'corpus', *words, code=64))
        self.assertFalse(os.path.exists(self.path('seen')))
        self.assertFalse(os.path.exists(self.path('out')))

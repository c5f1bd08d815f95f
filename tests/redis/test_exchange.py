"""The bytes of a real RedisBloom: its dumps are loaded, and what this module writes is the same."""
import json
import os
import unittest

from server import Server

DATA = f"{os.environ['BLOOMERY_SOURCE']}/tests/format/data"


def read(name):
    with open(f'{DATA}/{name}', 'rb') as file:
        return file.read()


def keys(name):
    lines = read(name).splitlines()
    return [bytes.fromhex(line.decode()) for line in lines] if name.endswith('.hex') else lines


def bits(text):
    return [byte >> i & 1 for byte in bytes.fromhex(text) for i in range(8)]


class Exchange(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(arguments=[])
        cls.ask = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        cls.ask.close()
        cls.server.close()

    def load(self, group, name, case):
        data = read('redisbloom/' + case['chunks_concatenated_file'])
        self.assertEqual(self.ask(f'{group}.LOADCHUNK', name, case['header_iter'], bytes.fromhex(case['header_hex'])), 'OK')
        at = 0
        for iterator, length in zip(case['chunk_iters'], case['chunk_lengths']):
            self.assertEqual(self.ask(f'{group}.LOADCHUNK', name, iterator, data[at:at + length]), 'OK')
            at += length

    def dump(self, group, name):
        at, out = 0, []
        while True:
            at, data = self.ask(f'{group}.SCANDUMP', name, at)
            if not at:
                return out
            out.append((at, data))

    def check(self, group, case):
        name = case['name']
        probes = keys(case['probes'])
        wanted = bits(case['probe_answers_lsb_first_hex'])[:len(probes)]
        self.load(group, name, case)
        self.assertEqual(self.ask(f'{group}.MEXISTS', name, *probes), wanted)
        dumped = self.dump(group, name)
        self.assertEqual([at for at, _ in dumped], [case['header_iter']] + case['chunk_iters'])
        self.assertEqual(dumped[0][1].hex(), case['header_hex'])
        self.assertEqual(b''.join(data for _, data in dumped[1:]), read('redisbloom/' + case['chunks_concatenated_file']))
        self.assertEqual(self.ask('RESTORE', name + 'r', 0, self.ask('DUMP', name)), 'OK')
        self.assertEqual(self.ask(f'{group}.MEXISTS', name + 'r', *probes), wanted)
        self.assertEqual(self.dump(group, name + 'r'), dumped)

    def test_bloom_filters_of_redisbloom_go_through_unchanged(self):
        cases = json.loads(read('redisbloom/bf.json'))['cases']
        for case in cases:
            with self.subTest(case['name']):
                self.check('BF', case)
        self.assertGreater(len(cases), 3)

    def test_cuckoo_filters_of_redisbloom_go_through_unchanged(self):
        cases = json.loads(read('redisbloom/cf.json'))['cases']
        for case in cases:
            with self.subTest(case['name']):
                self.check('CF', case)
        self.assertGreater(len(cases), 3)

    def test_a_dump_of_redisbloom_is_restored(self):
        about = json.loads(read('redisbloom/rdb-dump.json'))
        self.assertEqual(self.ask('RESTORE', 'd', 0, read('redisbloom/' + about['file'])), 'OK')
        self.assertEqual(self.dump('BF', 'd'), [(1, bytes.fromhex(about['scandump_header_hex'])),
                                                (145, bytes.fromhex(about['scandump_bits_hex']))])

    def test_the_first_filter_of_a_chain_equals_redisblooms(self):
        case = next(case for case in json.loads(read('redisbloom/bf.json'))['cases'] if case['name'] == 'p2')
        self.ask('BF.RESERVE', 'own', *case['reserve'][1:])
        self.ask('BF.MADD', 'own', *keys(case['keys'])[:case['n_insert']])
        self.load('BF', 'theirs', case)
        self.assertEqual(self.dump('BF', 'own'), self.dump('BF', 'theirs'))

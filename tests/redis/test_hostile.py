"""Payloads of strangers: RESTORE of mutated dumps, LOADCHUNK in any order, huge sizes. Errors, no crash, memory bounded."""
import os
import random
import resource
import unittest

from server import PRELOAD, Error, Server

ROUNDS = int(20000 * (1 if os.environ.get('BLOOMERY_TEST_SCALE') == 'full' else float(os.environ.get('BLOOMERY_TEST_SCALE') or 1)))
MEMORY_MOST = (2 << 30) if PRELOAD else (512 << 20)    # a sanitizer keeps what is freed


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95ac9329ac4bc9b5 if crc & 1 else 0)
    return crc


def sign(value):
    """The end of a dump: the version of Redis 7.0 and a checksum that is right."""
    value += b'\x0a\x00'
    return value + crc64(value).to_bytes(8, 'little')


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(arguments=[])
        cls.ask = cls.server.client()
        cls.random = random.Random(28)

    @classmethod
    def tearDownClass(cls):
        cls.ask.close()
        cls.server.close()

    def resident(self):
        with open(f'/proc/{self.server.process.pid}/status', encoding='ascii') as status:
            return next(int(line.split()[1]) for line in status if line.startswith('VmRSS')) << 10

    def alive(self):
        self.assertEqual(self.ask('PING'), 'PONG')
        self.assertLess(self.resident(), MEMORY_MOST)

    def mutate(self, data):
        data = bytearray(data)
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(data))
            how = self.random.randrange(4)
            if how == 0:
                data[at] ^= 1 << self.random.randrange(8)
            elif how == 1:
                data[at] = self.random.choice([0, 1, 0x7f, 0x80, 0x81, 0xff])
            elif how == 2:
                del data[at:at + self.random.randint(1, 8)]
            else:
                data[at:at] = bytes(self.random.randrange(256) for _ in range(self.random.randint(1, 8)))
            data = data or bytearray(1)
        return bytes(data)

    def values(self):
        self.ask('FLUSHALL')
        self.ask('BF.RESERVE', 'b', '0.01', 10)
        self.ask('BF.MADD', 'b', *range(40))
        self.ask('CF.RESERVE', 'c', 8, 'EXPANSION', 2)
        self.ask('CF.INSERT', 'c', 'ITEMS', *range(40))
        self.ask('BLM.CREATE', 'm', 'CAPACITY', 10, 'KIND', 'classic')
        self.ask('BLM.ADD', 'm', *range(5))
        return [self.ask('DUMP', key)[:-10] for key in 'bcm']

    def test_mutated_dumps_are_refused_or_answer(self):
        refused = 0
        dumps = self.values()
        for i in range(ROUNDS):
            reply = self.ask('RESTORE', 'x', 0, sign(dumps[i % 3][:10] + self.mutate(dumps[i % 3][10:])), 'REPLACE')
            refused += isinstance(reply, Error)
            for words in (['BF.EXISTS', 'x', 'a'], ['BF.MADD', 'x', 'a', i], ['CF.ADD', 'x', i], ['CF.DEL', 'x', i], ['BF.INFO', 'x'],
                          ['CF.INFO', 'x'], ['BLM.INFO', 'x'], ['DUMP', 'x']):
                self.ask(*words)
        self.assertGreater(refused, ROUNDS // 4)
        self.assertEqual(self.ask('RESTORE', 'x', 0, sign(dumps[0]), 'REPLACE'), 'OK')
        self.alive()

    def test_chunks_in_any_order_are_refused_or_fit(self):
        self.values()
        chunks = {}
        for group, key in (('BF', 'b'), ('CF', 'c')):
            at, chunks[group] = 0, []
            while True:
                at, data = self.ask(f'{group}.SCANDUMP', key, at)
                if not at:
                    break
                chunks[group].append((at, data))
        for i in range(ROUNDS):
            group = self.random.choice(['BF', 'CF'])
            at, data = self.random.choice(chunks[group])
            if self.random.random() < 0.3:
                data = self.mutate(data)
            if self.random.random() < 0.2:
                at = self.random.choice([0, -1, 1, 2, 1 << 40, (1 << 63) - 1, -(1 << 63), self.random.randrange(1000)])
            self.ask(f'{group}.LOADCHUNK', 'y', at, data)
            self.ask(f'{group}.EXISTS', 'y', i)
            self.ask(f'{group}.SCANDUMP', 'y', self.random.randrange(2000))
            if self.random.random() < 0.1:
                self.ask('DUMP', 'y')
                self.ask('DEL', 'y')
        self.alive()

    def test_a_header_of_a_huge_filter_takes_no_memory(self):
        self.values()
        header = bytearray(self.ask('BF.SCANDUMP', 'b', 0)[1])
        for link in range(3):
            size = 1 << 43
            at = 20 + 53 * link
            header[at:at + 16] = size.to_bytes(8, 'little') + (8 * size).to_bytes(8, 'little')
        for i in range(50):
            self.assertEqual(self.ask('BF.LOADCHUNK', f'h{i}', 1, bytes(header)), 'OK')
            self.assertEqual(self.ask('BF.LOADCHUNK', f'h{i}', 11, b'0123456789'), 'OK')
            self.assertIn('chunks of it are missing', self.ask('BF.ADD', f'h{i}', 'a'))
        dump = self.ask('DUMP', 'h0')
        self.assertEqual(self.ask('RESTORE', 'r', 0, dump), 'OK')
        self.assertEqual(self.ask('DUMP', 'r'), dump)
        empty = lambda buckets, tables: b''.join(n.to_bytes(8, 'little') for n in (0, buckets, 0, tables)) + b'\x01\x00\x14\x00\x01\x00'
        self.assertIsInstance(self.ask('CF.LOADCHUNK', 'g', 1, empty(1 << 31, 1)), Error)
        self.assertIsInstance(self.ask('CF.LOADCHUNK', 'g', 1, empty(1 << 30, 2)), Error)
        self.assertEqual(self.ask('CF.LOADCHUNK', 'g', 1, empty(1 << 30, 1)), 'OK')
        self.assertEqual(self.ask('CF.INSERT', 'g', 'ITEMS', *['1'] * 10), [1] * 10)
        self.alive()

    def test_huge_sizes_are_refused_or_take_no_memory(self):
        self.ask('FLUSHALL')
        for words in (['BF.RESERVE', 'a', '1e-300', 1 << 30], ['BF.RESERVE', 'b', '1e-60', 1 << 30], ['BF.RESERVE', 'c', '0.01', 1 << 62],
                      ['CF.RESERVE', 'd', 1 << 30, 'BUCKETSIZE', 255, 'EXPANSION', 32768], ['CF.RESERVE', 'e', 1 << 62],
                      ['BLM.CREATE', 'f', 'CAPACITY', 1 << 46, 'RATE', '1e-9'], ['BLM.CREATE', 'g', 'CELLS', 1 << 62]):
            self.ask(*words)
        for key in 'abcdefg':
            self.ask('BF.MADD', key, 1, 2, 3)
            self.ask('CF.INSERT', key, 'ITEMS', 1, 2, 3)
        self.assertIn('more than 17179869184', self.ask('BLM.CREATE', 'l', 'CELLS', 1 << 38))
        self.assertEqual(self.ask('BLM.CREATE', 'l', 'CELLS', 1 << 36), 'OK')
        seeds = ','.join(['1'] * 256)
        self.assertIsInstance(self.ask('BLM.CREATE', 's', 'CAPACITY', 10, 'SEEDS', seeds, 'SEEDS', seeds, 'SEEDS', seeds + ',1'), Error)
        self.assertEqual(self.ask('BLM.CREATE', 't', 'CAPACITY', 10, 'SEEDS', 7, 'SEEDS', 7), 'OK')
        for text in ('', ',', '1,', 'x', '9' * 6000):
            self.assertIsInstance(self.ask('BLM.CREATE', 's', 'CAPACITY', 10, 'SEEDS', text), Error)
        self.ask('FLUSHALL')
        self.alive()

    def test_filters_leave_descriptors_to_the_server(self):
        with Server('--maxclients', '100', arguments=[]) as server, server.client() as ask:
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (160, 160))
            dump = (ask('BF.ADD', 'b', 1), ask('DUMP', 'b'))[1]
            chunk = ask('BF.SCANDUMP', 'b', 0)
            ask('CF.RESERVE', 'c', 4, 'BUCKETSIZE', 1)
            made = sum(ask('BLM.CREATE', f'm{i}', 'CAPACITY', 100) == 'OK' for i in range(100))
            self.assertGreater(made, 30)
            self.assertLess(made, 60)
            for words in (['BF.ADD', 'x', 1], ['BF.RESERVE', 'x', '0.01', 10], ['CF.ADD', 'x', 1], ['BF.LOADCHUNK', 'x', *chunk],
                          ['BLM.CREATE', 'x', 'CAPACITY', 10]):
                self.assertIn('file descriptors', ask(*words))
            self.assertIsInstance(ask('RESTORE', 'x', 0, dump), Error)
            self.assertIsInstance(ask('COPY', 'b', 'x'), Error)
            self.assertIn('file descriptors', [ask('CF.ADD', 'c', i) for i in range(9)][-1])
            self.assertEqual(ask('EXISTS', 'x'), 0)
            self.assertEqual(ask('DEBUG', 'RELOAD'), 'OK')
            with server.client() as other:
                self.assertEqual(other('DEL', 'm0', 'm1'), 2)
            self.assertEqual(ask('BF.ADD', 'x', 1), 1)

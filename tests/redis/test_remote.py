"""test_remote.py - bloomery claim --redis, against a server and against a cluster"""
import os
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from server import PROGRAM, Cluster, Server, until, free_port

KEYS = int(30000 * max(float(os.environ.get('BLOOMERY_TEST_SCALE', '1').replace('full', '1')), 0.1))


def claim(*words, keys, **more):
    text = ''.join(f'{key}\n' for key in keys).encode()
    return subprocess.run([PROGRAM, 'claim', *words], check=False, input=text, capture_output=True, **more)


def held(server):
    """What each key of a node says of its keys."""
    with server.client() as ask:
        return [ask('BF.CARD', key) for key in ask('KEYS', 'seen:*')]


def lines(ran):
    return [int(line) for line in ran.stdout.split()]


# A build without hiredis says that it has no client.
WITHOUT = b'no client' in claim('--redis', 'unix:/nowhere', 'seen', keys=[]).stderr


@unittest.skipIf(WITHOUT, 'the program was built without hiredis; install libhiredis-dev')
class AServer(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.url = f'unix:{self.server.folder}/s'

    def test_keys_are_claimed_once_over_all_shards(self):
        for shards in (1, 5):
            name = f'seen{shards}'
            made = ['--redis', self.url, '--shards', str(shards), name]
            first = claim(*made, '--create', '-n', str(2 * KEYS), '-p', '1e-9', keys=range(KEYS))
            self.assertEqual((first.returncode, lines(first), first.stderr), (0, list(range(KEYS)), b''))
            again = claim(*made, '--create', '-n', '10', keys=[*range(KEYS // 2), KEYS, KEYS, KEYS + 1])
            self.assertEqual((again.returncode, lines(again)), (0, [KEYS, KEYS + 1]))
            self.assertEqual(claim(*made, keys=range(KEYS)).returncode, 1)
            with self.server.client() as ask:
                cards = [ask('BF.CARD', name if shards == 1 else f'{name}:{i}') for i in range(shards)]
            self.assertEqual(sum(cards), KEYS + 2)
            self.assertLess(max(cards), 2 * KEYS / shards)

    def test_a_local_process_and_the_server_share_claims(self):
        told = {}

        def at_the_server():
            told['server'] = claim('--redis', self.url, 'seen', '--batch', '512', keys=range(KEYS))

        claim('--redis', self.url, 'seen', '--create', '-n', str(KEYS), '-p', '1e-9', keys=[0])
        other = threading.Thread(target=at_the_server)
        other.start()
        local = self.server.program('claim', 'redis.0.seen', keys=b''.join(b'%d\n' % i for i in range(KEYS)))
        other.join()
        self.assertEqual(sorted(lines(local) + lines(told['server'])), list(range(1, KEYS)))

    def test_a_missing_shard_keeps_no_other_shards_line(self):
        made = ['--redis', self.url, '--shards', '4', 'seen']
        claim(*made, '--create', '-n', str(KEYS), '-p', '1e-9', keys=[])
        with self.server.client() as ask:
            ask('DEL', 'seen:2')
        ran = claim(*made, keys=range(1000))
        self.assertEqual(ran.returncode, 2)
        self.assertIn(b'seen:2: ERR not found', ran.stderr)
        self.assertIn(b'1 of 4 commands of this batch have no answer\n', ran.stderr)
        with self.server.client() as ask:
            self.assertEqual(sum(ask('BF.CARD', f'seen:{i}') for i in (0, 1, 3)), len(lines(ran)))

    def test_an_address_without_a_server_is_refused(self):
        for url, code, words in (('localhost', 64, b'no address'), ('redis://', 64, b'no address'), ('redis://h:0', 64, b'no address'),
                                 ('redis://h:1x', 64, b'no address'), ('redis://h/x', 64, b'no address'), ('unix:', 64, b'no address'),
                                 ('redis://[::1', 64, b'no address'), ('redis://user@h', 64, b'no address'),
                                 (f'unix:{self.server.folder}/none', 2, b'cannot connect'), (self.url, 2, b'ERR not found')):
            ran = claim('--redis', url, 'seen', keys=[1])
            self.assertEqual((ran.returncode, ran.stdout), (code, b''), url)
            self.assertIn(words, ran.stderr, url)
        for words in (['--redis', self.url, '--shards', '2', '{a}'], ['--shards', '2', 'a'], ['--redis', self.url, '--shards', '0', 'a'],
                      ['--redis', self.url, 'a', '--again-after', '7d'], ['--redis', self.url, 'a', '--create'],
                      ['--redis', self.url, '']):
            self.assertEqual(claim(*words, keys=[1]).returncode, 64, words)

    def test_options_that_a_server_lacks_are_refused(self):
        for words in (['--hash', 'md5'], ['--untrusted'], ['-k', '5'], ['--seed', '5'], ['--mode', '600'], ['--sparse'], ['--no-checkpoint']):
            ran = claim('--redis', self.url, 'a', '--create', '-n', '10', *words, keys=[1])
            self.assertEqual((ran.returncode, ran.stdout), (64, b''), words)
            self.assertIn(b'with --redis, only', ran.stderr, words)
        for words in (['--store', self.server.folder], ['--anyone'], ['--prefault'], ['--lock'], ['--pages', 'small'], ['--sync-every', '5s']):
            ran = claim('--redis', self.url, 'a', '--create', '-n', '10', *words, keys=[1])
            self.assertEqual((ran.returncode, ran.stdout), (64, b''), words)
            self.assertIn(b'--redis does not work with', ran.stderr, words)

    def test_a_password_is_asked_for(self):
        with self.server.client() as ask:
            ask('CONFIG', 'SET', 'requirepass', 'pass word')
        made = ['--redis', self.url, 'seen', '--create', '-n', '10']
        self.assertIn(b'NOAUTH', claim(*made, keys=[1]).stderr)
        self.assertEqual(lines(claim(*made, keys=[1], env={**os.environ, 'REDISCLI_AUTH': 'pass word'})), [1])
        self.assertIn(b'log in', claim(*made, keys=[2], env={**os.environ, 'REDISCLI_AUTH': 'wrong'}).stderr)

    def test_no_message_has_the_password_of_a_url(self):
        port = free_port()
        for url, words in ((f'redis://ann:s3cret@127.0.0.1:{port}', b'redis://***@127.0.0.1'), ('redis://:s3cret@h/x', b'no address'),
                           ('redis://:s3/cret@h', b'no address'), ('rediss://:s3cret@h', b'no address'), ('ann:s3cret@h', b'no address'),
                           ('redis://s3cret@h', b'no address'), ('redis://:a@s3cret@h:0', b'no address')):
            ran = claim('--redis', url, 'seen', keys=[1])
            self.assertIn(words, ran.stderr, url)
            self.assertNotIn(b's3', ran.stderr, url)

    def test_a_server_that_ends_is_reported(self):
        claim('--redis', self.url, 'seen', '--create', '-n', '1000', keys=[])
        with subprocess.Popen([PROGRAM, 'claim', '--redis', self.url, 'seen'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as ran:
            ran.stdin.write(b'1\n')
            ran.stdin.flush()
            self.assertEqual(ran.stdout.readline(), b'1\n')
            self.server.stop(kill=True)
            out, err = ran.communicate(b'2\n')
        self.assertEqual((ran.returncode, out), (2, b''))
        self.assertIn(b'may be claimed', err)


def answers_with(listener, reply, asked):
    """Each command of each client gets this reply. asked: set by the first one."""
    while True:
        try:
            one, _ = listener.accept()
        except OSError:
            return
        with one:
            while one.recv(1 << 16):
                one.sendall(reply)
                asked.set()


@unittest.skipIf(WITHOUT, 'the program was built without hiredis; install libhiredis-dev')
class AClusterThatIsNotUp(unittest.TestCase):
    def test_a_signal_ends_the_asking_again(self):
        for words in ('CLUSTERDOWN The cluster is down', 'MOVED 1 127.0.0.1:{port}'):
            with socket.create_server(('127.0.0.1', 0)) as listener:
                port, asked = listener.getsockname()[1], threading.Event()
                threading.Thread(target=answers_with, args=(listener, f'-{words.format(port=port)}\r\n'.encode(), asked), daemon=True).start()
                with subprocess.Popen([PROGRAM, 'claim', '--redis', f'redis://127.0.0.1:{port}', 'seen', '--key', 'a'],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
                    asked.wait()
                    ran.send_signal(signal.SIGINT)
                    out, err = ran.communicate()
            self.assertEqual((ran.returncode, out), (-signal.SIGINT, b''), words)
            self.assertNotIn(b'for long', err, words)    # it did not ask again until it gave up
            self.assertIn(b'1 of 1 commands of this batch have no answer', err, words)


@unittest.skipIf(WITHOUT or not shutil.which('redis-cli'), 'needs a build with hiredis, and redis-cli')
class ACluster(unittest.TestCase):
    @staticmethod
    def counted(server):
        """A node may say for a moment that another one has the slot, also after it answered."""
        cards = []

        def answers():
            cards[:] = held(server)
            return all(isinstance(card, int) for card in cards)
        until(answers, f'{server.folder} answers for its keys')
        return cards

    def test_claims_find_the_nodes_also_while_slots_move(self):
        # a node that has lost its last slot must not become a replica: it would hold the keys of another one
        with Cluster(3, '--cluster-allow-replica-migration', 'no') as cluster:
            made = ['--shards', '16', 'seen', '--create', '-n', str(2 * KEYS), '-p', '1e-9']
            told = [None, None]

            def run(i):
                told[i] = claim('--redis', f'redis://127.0.0.1:{cluster.ports[i]}', '--batch', '256', *made, keys=range(KEYS))

            threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
            for thread in threads:
                thread.start()
            with cluster.servers[0].client() as ask:
                source = ask('CLUSTER', 'MYID').decode()
            with cluster.servers[1].client() as ask:
                target = ask('CLUSTER', 'MYID').decode()
            subprocess.run(['redis-cli', '--cluster', 'reshard', f'127.0.0.1:{cluster.ports[0]}', '--cluster-from', source,
                            '--cluster-to', target, '--cluster-slots', '5461', '--cluster-yes'], check=True, stdout=subprocess.DEVNULL)
            for thread in threads:
                thread.join()
            self.assertEqual([ran.stderr for ran in told], [b'', b''])
            self.assertEqual(sorted(lines(told[0]) + lines(told[1])), list(range(KEYS)))
            cards = [sum(self.counted(server)) for server in cluster.servers]
            self.assertEqual((sum(cards), cards[0]), (KEYS, 0))

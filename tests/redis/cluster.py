"""cluster.py - claims in a cluster of 3 masters and 3 replicas whose masters are killed and whose slots move

usage: cluster.py MODULE PROGRAM [--keys N] [--kills N] [--reshards N] [--wait] [--seed N]

Four clients claim the same keys, each in its own order. A claim is told once its answer came, with --wait only if a
replica had it by then (WAIT 1). The killer works while the clients do, and the clients wait for it: each kill has its
part of the keys. A killed master starts again as a replica, empty, and no other one is killed until it has all data.
Slots move between kills, because Redis promises nothing for a key whose new master is killed before its replica has it.

What is counted:
  doubled   told new to two clients: a claim that the killed master had answered and not yet given to its replica
  denied    told new or seen, and not in the filter at the end, for the same reason
  silent    keys that no client was told are new, where a client lost its connection, or WAIT failed, after it sent the key
  lost      keys that no client was told are new, and no connection or WAIT failed: must be 0
  unsure    commands that got no answer, or whose WAIT failed: each is sent again
"""
import argparse
import multiprocessing
import os
import random
import subprocess
import sys
import time

CLIENTS, SHARDS, BATCH, NAME = 4, 12, 500, 'seen'
PASS = ('TRYAGAIN', 'CLUSTERDOWN', 'LOADING', 'MASTERDOWN')


class Peer(Exception):
    """A node that is gone."""


class Nodes:
    """Commands to the node that has a key, again until a node answers."""

    def __init__(self, ports):
        self.ports, self.open, self.home = ports, {}, {}
        self.unsure = False    # the last command may have been run by a node that gave no answer

    def close(self, port):
        client = self.open.pop(port, None)
        if client:
            client.close()

    def exchange(self, port, *commands):
        """The replies. What was sent may have been run also where this fails."""
        from server import Tcp
        try:
            if port not in self.open:
                self.open[port] = Tcp(port)
            client = self.open[port]
            for command in commands:
                client.send(*command)
            return [client.read() for _ in commands]
        except OSError as error:
            sent = port in self.open
            self.close(port)
            self.unsure = self.unsure or sent
            raise Peer from error

    def __call__(self, key, *commands):
        """The replies of all commands, which one node ran; the first of them has the key."""
        from server import LIMIT, Error
        end, asking = time.monotonic() + LIMIT, None
        self.unsure = False
        while time.monotonic() < end:
            port = asking or self.home.setdefault(key, random.choice(self.ports))
            try:
                replies = self.exchange(port, *([('ASKING',)] if asking else []), *commands)[bool(asking):]
            except Peer:
                self.home[key], asking = random.choice(self.ports), None
                time.sleep(0.05)
                continue
            asking = None
            if not isinstance(replies[0], Error):
                return replies
            word, *rest = replies[0].split()
            if word in ('MOVED', 'ASK'):
                target = int(rest[-1].rsplit(':', 1)[1])
                if word == 'ASK':
                    asking = target
                else:
                    self.home[key] = target
            elif word in PASS:
                self.home.pop(key)
                time.sleep(0.05)
            else:
                raise AssertionError(f'{commands[0][:2]}: {replies[0]}')
        raise AssertionError(f'{key}: no node answered for {LIMIT} s')


def shard_of(number):
    return (number * 0x9e3779b1 & 0xffffffff) * SHARDS >> 32


def batches(order):
    parts = [[] for _ in range(SHARDS)]
    for number in order:
        part = parts[shard_of(number)]
        part.append(number)
        if len(part) == BATCH:
            yield part
            part.clear()
    yield from filter(None, parts)


def client(index, ports, plan, wait, goal, done, answers):
    """Marks of each key: 1 told new, 2 told, 4 perhaps claimed by a command without an answer."""
    nodes, marks, count, unsure = Nodes(ports), bytearray(plan.keys), 0, 0
    first = index * plan.keys // CLIENTS
    order = [number % plan.keys for number in range(first, first + plan.keys)]
    for batch in batches(order):
        while count > goal.value:
            time.sleep(0.01)
        key = f'{NAME}:{shard_of(batch[0])}'
        told = False
        while not told:
            claims, *copies = nodes(key, ('BLM.CLAIM', key, *batch), *([('WAIT', 1, 2000)] if wait else []))
            told = not wait or copies[0] >= 1
            unsure += nodes.unsure or not told
            new = [claims[i >> 3] >> (i & 7) & 1 for i in range(len(batch))]
            for number, is_new in zip(batch, new):
                marks[number] |= (2 | is_new if told else 4 * is_new) | 4 * nodes.unsure
        count += len(batch)
        done[index] = count
    answers.put((bytes(marks), unsure))


class Killer:
    def __init__(self, cluster, plan, luck):
        self.cluster, self.plan, self.luck = cluster, plan, luck

    def role(self, server):
        with server.client() as ask:
            return ask('ROLE')

    def masters(self):
        return [server for server in self.cluster.servers if self.role(server)[0] == b'master']

    def in_step(self):
        """Each master has a replica that has all its data, and all nodes know so."""
        roles = [self.role(server) for server in self.cluster.servers]
        masters = [role for role in roles if role[0] == b'master']
        return (len(masters) == 3 and all(role[2] for role in masters) and all(role[3] == b'connected' for role in roles if role[0] != b'master')
                and all(self.cluster.is_up(server) for server in self.cluster.servers))

    def kill(self):
        from server import until
        server = self.luck.choice(self.masters())
        others = [other for other in self.cluster.servers if other is not server]
        server.stop(kill=True)
        until(lambda: sum(self.role(other)[0] == b'master' for other in others) == 3, 'a replica takes over')
        server.start()
        until(self.in_step, 'the killed master is a replica in step')

    def reshard(self):
        from server import until
        source, target = self.luck.sample(self.masters(), 2)
        ids = []
        for server in (source, target):
            with server.client() as ask:
                ids.append(ask('CLUSTER', 'MYID').decode())
        port = self.cluster.ports[self.cluster.servers.index(source)]
        for _ in range(50):    # nodes may not agree yet
            ran = subprocess.run(['redis-cli', '--cluster', 'reshard', f'127.0.0.1:{port}', '--cluster-from', ids[0], '--cluster-to', ids[1],
                                  '--cluster-slots', '2000', '--cluster-yes'], check=False, capture_output=True, text=True)
            if ran.returncode == 0:
                break
            time.sleep(0.2)
            subprocess.run(['redis-cli', '--cluster', 'fix', f'127.0.0.1:{port}', '--cluster-yes'], check=False, capture_output=True)
        assert ran.returncode == 0, ran.stdout[-500:]
        until(self.in_step, 'the replicas are in step')
        with target.client() as ask:
            assert ask('WAIT', 1, 60000) >= 1


def run(plan):
    from server import Cluster, Error, until
    luck = random.Random(plan.seed)
    kinds = ['kill'] * plan.kills
    for i in range(plan.reshards):
        kinds.insert((i + 1) * len(kinds) // (plan.reshards + 1), 'reshard')
    with Cluster(6, '--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no', replicas=1) as cluster:
        killer = Killer(cluster, plan, luck)
        until(killer.in_step, 'the replicas are in step')
        nodes = Nodes(cluster.ports)
        for shard in range(SHARDS):
            key = f'{NAME}:{shard}'
            made, = nodes(key, ('BLM.CREATE', key, 'CAPACITY', plan.keys // SHARDS * 2, 'RATE', '1e-9'))
            assert made == 'OK', made
        goal, done, answers = multiprocessing.Value('q', -1), multiprocessing.Array('q', CLIENTS), multiprocessing.Queue()
        clients = [multiprocessing.Process(target=client, args=(i, cluster.ports, plan, plan.wait, goal, done, answers), daemon=True)
                   for i in range(CLIENTS)]
        for process in clients:
            process.start()
        for step, kind in enumerate(kinds):
            begin, goal.value = goal.value, plan.keys * (step + 1) // (len(kinds) + 1)
            middle = begin + (goal.value - begin) * luck.random() / 2
            until(lambda: max(done) >= middle, 'the clients claim')
            getattr(killer, kind)()
        goal.value = plan.keys
        told, unsure = zip(*(answers.get(timeout=600) for _ in clients))
        for process in clients:
            process.join()
        held = bytearray(plan.keys)
        for batch in batches(range(plan.keys)):
            key = f'{NAME}:{shard_of(batch[0])}'
            reply, = nodes(key, ('BLM.TEST', key, *batch))
            assert not isinstance(reply, Error), reply
            for i, number in enumerate(batch):
                held[number] = reply[i >> 3] >> (i & 7) & 1
        return list(zip(*told)), held, sum(unsure)


def report(marks, held, unsure):
    new = [sum(mark & 1 for mark in each) for each in marks]
    silent = sum(not count and any(mark & 4 for mark in each) for count, each in zip(new, marks))
    counts = {'told new': sum(map(bool, new)), 'doubled': sum(count > 1 for count in new), 'denied': sum(not is_held for is_held in held),
              'silent': silent, 'lost': sum(not count for count in new) - silent,
              'unsure': unsure}
    assert all(mark & 2 for each in marks for mark in each), 'a client was told nothing about a key'
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('module')
    parser.add_argument('program')
    for name, value in (('keys', 1_000_000), ('kills', 30), ('reshards', 2), ('seed', 28)):
        parser.add_argument(f'--{name}', type=int, default=value)
    parser.add_argument('--wait', action='store_true')
    plan = parser.parse_args()
    os.environ['BLOOMERY_REDIS_MODULE'], os.environ['BLOOMERY_PROGRAM'] = os.path.abspath(plan.module), os.path.abspath(plan.program)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    counts = report(*run(plan))
    print(f'{plan.keys} keys, {CLIENTS} clients, {plan.kills} kills, {plan.reshards} reshardings{", WAIT 1" if plan.wait else ""}: '
          + ', '.join(f'{count} {name}' for name, count in counts.items()))
    return int(counts['lost'] > 0 or (plan.wait and counts['doubled'] + counts['denied'] > 0))


if __name__ == '__main__':
    sys.exit(main())

"""server.py - a server with the module in a temporary folder, and a client that shows the types of its replies"""
import os
import shutil
import socket
import subprocess
import tempfile
import time

MODULE = os.environ['BLOOMERY_REDIS_MODULE']
PROGRAM = os.environ['BLOOMERY_PROGRAM']
SERVER = os.environ.get('BLOOMERY_REDIS_SERVER') or shutil.which('redis-server')    # Valkey's, for example
PRELOAD = os.environ.get('BLOOMERY_REDIS_PRELOAD')    # the run-time of the sanitizer that the module was built with
LIMIT = 600    # seconds until a wait is given up; no test is about time


class Error(str):
    """An error that the server replied."""


def until(holds, what):
    end = time.monotonic() + LIMIT
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f'waited {LIMIT} s in vain until {what}')
        time.sleep(0.02)


class Client:
    def __init__(self, path, protocol=2):
        self.socket = self.connect(path)
        self.file = self.socket.makefile('rb')
        if protocol == 3:
            self('HELLO', 3)

    @staticmethod
    def connect(path):
        made = socket.socket(socket.AF_UNIX)
        try:
            made.settimeout(LIMIT)
            made.connect(path)
        except OSError:
            made.close()
            raise
        return made

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words))

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b'\r\n'):
            raise ConnectionError('the server closed the connection')
        kind, rest = line[:1], line[1:-2]
        if kind == b'+':
            return rest.decode()
        if kind == b'-':
            return Error(rest.decode())
        if kind == b':':
            return int(rest)
        if kind == b',':
            return float(rest)
        if kind == b'#':
            return rest == b't'
        if kind == b'_' or rest == b'-1':
            return None
        if kind == b'$':
            return self.file.read(int(rest) + 2)[:-2]
        if kind == b'%':
            return {self.read(): self.read() for _ in range(int(rest))}
        if kind in b'*~':
            return [self.read() for _ in range(int(rest))]
        raise AssertionError(f'a reply of an unknown type: {line}')


class Tcp(Client):
    """A client of a port of the loopback."""

    @staticmethod
    def connect(path):
        return socket.create_connection(('127.0.0.1', path), timeout=LIMIT)


class Server:
    """One server at a time in a folder of its own. Its socket is s, its store is store."""

    def __init__(self, *options, arguments=None, folder=None, more=()):
        self.made = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix='blm-', dir='/tmp')
        self.options = options
        self.arguments = ['store', f'{self.folder}/store'] if arguments is None else list(arguments)
        self.arguments += more
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        # Redis' default, a sync each second, keeps answered commands in memory while the disk is busy: a kill would take them.
        self.process = subprocess.Popen(
            [SERVER, '--port', '0', '--unixsocket', f'{self.folder}/s', '--dir', self.folder, '--save', '',
             '--enable-debug-command', 'yes', '--logfile', f'{self.folder}/log', '--repl-diskless-sync-delay', '0',
             '--appendfsync', 'always',
             *self.options, '--loadmodule', MODULE, *self.arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, 'LD_PRELOAD': PRELOAD} if PRELOAD else None)
        until(self.answers, 'the server answers')

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f'the server ended:\n{self.log()}')
        try:
            with self.client() as ask:
                return ask('PING') == 'PONG'
        except OSError:
            return False

    def log(self):
        try:
            with open(f'{self.folder}/log', encoding='utf-8', errors='replace') as log:
                return log.read()[-4000:]
        except OSError:
            return ''

    def client(self, protocol=2):
        return Closing(f'{self.folder}/s', protocol)

    def stop(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()

    def restart(self, kill=False):
        self.stop(kill)
        self.start()

    def close(self):
        self.stop(kill=True)
        if self.made:
            until(self.remove, f'{self.folder} is gone')

    def remove(self):
        try:
            shutil.rmtree(self.folder)    # a child that the server forked may still write there
        except OSError:
            return not os.path.exists(self.folder)
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def listen(self):
        """The server takes connections of the loopback, too. Return: the port."""
        with self.client() as ask:
            for port in range(21000, 22000):
                if ask('CONFIG', 'SET', 'port', port) == 'OK':
                    return port
        raise AssertionError('no port is free')

    def names(self):
        """The filters of the store, as a program of this machine sees them."""
        out = subprocess.run([PROGRAM, 'ls', '--store', f'{self.folder}/store'], check=False, capture_output=True)
        return out.stdout.decode().split()

    def program(self, *words, keys=b''):
        return subprocess.run([PROGRAM, words[0], '--store', f'{self.folder}/store', *words[1:]],
                              check=False, input=keys, capture_output=True)


class Cluster:
    """Nodes on ports of the loopback, with that number of replicas for each master. Each master has slots of its own."""

    def __init__(self, count, *options, replicas=0):
        self.servers, self.ports, self.options = [], [], options
        try:
            for _ in range(count):
                self.add()
            if count == 1:
                with self.servers[0].client() as ask:    # the program makes no cluster of one
                    ask('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
            else:
                subprocess.run(['redis-cli', '--cluster', 'create', *(f'127.0.0.1:{port}' for port in self.ports),
                                '--cluster-replicas', str(replicas), '--cluster-yes'],
                               check=True, stdout=subprocess.DEVNULL)
            until(lambda: all(self.is_up(server) for server in self.servers), 'the cluster is up')
        except BaseException:
            self.close()
            raise

    def add(self, tries=20):
        """Another program may take the port before the server does: then a server with another port is tried."""
        port = free_port()
        try:
            server = Server('--port', str(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', *self.options, arguments=[])
        except AssertionError as error:
            if tries and 'Address already in use' in str(error):
                return self.add(tries - 1)
            raise
        self.ports.append(port)
        self.servers.append(server)

    @staticmethod
    def is_up(server):
        with server.client() as ask:
            return b'cluster_state:ok' in ask('CLUSTER', 'INFO')

    def close(self):
        for server in self.servers:
            server.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def free_port():
    """A port of the loopback whose bus port, 10000 more, is free as well."""
    while True:
        with socket.socket() as one, socket.socket() as bus:
            one.bind(('127.0.0.1', 0))
            port = one.getsockname()[1]
            if port > 55000:
                continue
            try:
                bus.bind(('127.0.0.1', port + 10000))
            except OSError:
                continue
            return port


class Closing(Client):
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

"""cluster.py - a cluster of PostgreSQL in a temporary folder, of a user that is not root, and sessions of psql"""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time

INSTALLED = '/usr/lib/postgresql/15'
LIMIT = 600    # seconds until a wait is given up; no test is about time
FAULTS = ('ERROR:', 'FATAL:', 'psql:')


def what_is_missing():
    for path, package in ((f'{INSTALLED}/bin/postgres', 'postgresql-15'),
                          ('/usr/include/postgresql/15/server/postgres.h', 'postgresql-server-dev-15')):
        if not os.path.exists(path):
            return f'{path} is not here; install the package {package}'
    if not shutil.which('make') or not shutil.which('pkg-config'):
        return 'no make or no pkg-config here; install them'
    if not os.getuid() and subprocess.run(['setpriv', '--reuid', '65534', 'true'], capture_output=True).returncode:
        return 'PostgreSQL does not run as root, and this process cannot become another user'
    return None


class Failure(Exception):
    """What the server said, with its code."""


class Session:
    """One connection. Values come as psql prints them without alignment."""

    def __init__(self, cluster, user='owner', options=''):
        self.process = subprocess.Popen(
            ['stdbuf', '-oL', *cluster.as_server(), f'{INSTALLED}/bin/psql', '-X', '-A', '-t', '-q', '-h', cluster.folder, '-U', user, 'postgres'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd='/',
            env={**cluster.environment, 'PGOPTIONS': options, 'PGCLIENTENCODING': 'UTF8', 'LC_ALL': 'C.UTF-8'})
        self('\\set VERBOSITY verbose')

    def send(self, sql):
        self.process.stdin.write(f'{sql}\n;\n\\echo =done=\n')
        self.process.stdin.flush()

    def read(self):
        lines = []
        hangs = threading.Timer(LIMIT, self.process.kill)
        hangs.start()
        try:
            for line in self.process.stdout:
                line = line.rstrip('\n')
                if line == '=done=':
                    break
                lines.append(line)
            else:
                raise Failure('\n'.join(['the connection ended', *lines]))
        finally:
            hangs.cancel()
        if any(line.startswith(FAULTS) for line in lines):
            raise Failure('\n'.join(lines))
        return '\n'.join(lines)

    def __call__(self, sql):
        self.send(sql)
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Cluster:
    def __init__(self, source, build, program):
        self.source, self.build = source, build
        self.folder = tempfile.mkdtemp(prefix='blm-', dir='/tmp')
        try:
            self.user = self.other_user()
            self.program = f'{self.folder}/bloomery'
            shutil.copy(program, self.program)
            os.mkdir(f'{self.folder}/library')
            shutil.copy(f'{build}/lib/libbloomery.so.0', f'{self.folder}/library/')
            self.environment = {'PATH': '/usr/bin:/bin', 'LD_LIBRARY_PATH': f'{self.folder}/library', 'HOME': '/nonexistent'}
            self.prefix()
            self.install()
            self.give(self.folder)    # whoever reaches the socket is a superuser of the server: nobody else enters the folder
            self.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise

    @staticmethod
    def other_user():
        """PostgreSQL does not run as root."""
        if os.getuid():
            return None
        for name in 'postgres', 'nobody':
            try:
                return pwd.getpwnam(name)
            except KeyError:
                pass
        raise AssertionError('there is neither a user postgres nor a user nobody')

    def as_server(self):
        return ['setpriv', '--reuid', str(self.user.pw_uid), '--regid', str(self.user.pw_gid), '--clear-groups'] if self.user else []

    def give(self, path):
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def prefix(self):
        """The programs of the server find their files from their own place, so copies of them use another place."""
        self.lib = f'{self.folder}/lib/postgresql/15'
        share = f'{self.folder}/share/postgresql/15'
        for folder in f'{self.lib}/bin', f'{self.lib}/lib', f'{share}/extension':
            os.makedirs(folder)
        for name in 'postgres', 'initdb', 'pg_config':
            shutil.copy(f'{INSTALLED}/bin/{name}', f'{self.lib}/bin/')
        for name in os.listdir(f'{INSTALLED}/lib'):
            os.symlink(f'{INSTALLED}/lib/{name}', f'{self.lib}/lib/{name}')
        for name in os.listdir('/usr/share/postgresql/15'):
            if name != 'extension':
                os.symlink(f'/usr/share/postgresql/15/{name}', f'{share}/{name}')
        for name in os.listdir('/usr/share/postgresql/15/extension'):
            if name.startswith('plpgsql'):
                os.symlink(f'/usr/share/postgresql/15/extension/{name}', f'{share}/extension/{name}')
        os.symlink('/usr/include', f'{self.folder}/include')

    def install(self):
        os.mkdir(f'{self.folder}/objects')
        make = ['make', '-f', f'{self.source}/tools/postgresql/Makefile', f'PG_CONFIG={self.lib}/bin/pg_config', 'all', 'install',
                'PG_CFLAGS=' + f'-I{self.source}/lib -Werror', 'SHLIB_LINK=' + f'-L{self.folder}/library -l:libbloomery.so.0']
        made = subprocess.run(make, cwd=f'{self.folder}/objects', capture_output=True, text=True, check=False)
        if made.returncode:
            raise AssertionError(f'{made.stdout}\n{made.stderr}')

    def start(self):
        self.data, self.store = f'{self.folder}/data', f'{self.folder}/store'
        for folder in self.data, self.store, f'{self.folder}/run':
            os.mkdir(folder, 0o700)
            self.give(folder)
        os.rmdir(self.store)
        subprocess.run([*self.as_server(), f'{self.lib}/bin/initdb', '-D', self.data, '-U', 'owner', '-A', 'trust', '-N', '-E', 'UTF8', '--locale=C'],
                       check=True, capture_output=True, cwd='/', env=self.environment)
        self.process = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'QUIT', *self.as_server()[1:], f'{self.lib}/bin/postgres', '-D', self.data, '-k', self.folder, '-c', 'listen_addresses=', '-c', 'fsync=off',
             '-c', f'bloomery.store={self.store}', '-c', 'shared_buffers=16MB'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(f'{self.folder}/log', 'wb'), cwd='/', env=self.environment)
        end = time.monotonic() + LIMIT
        while True:
            try:
                session = Session(self)
                session('SELECT 1')
                session.close()
                return
            except (Failure, BrokenPipeError):
                if self.process.poll() is not None or time.monotonic() > end:
                    with open(f'{self.folder}/log', encoding='utf-8', errors='replace') as log:
                        raise AssertionError(f'the server does not answer:\n{log.read()}') from None
                time.sleep(0.05)

    def bloomery(self, *words, keys=''):
        ran = subprocess.run([*self.as_server(), self.program, words[0], '--store', self.store, *words[1:]], input=keys.encode(), capture_output=True,
                             check=False, cwd='/', env=self.environment)
        if ran.returncode > 1:
            raise AssertionError(ran.stderr.decode())
        return ran.stdout.decode()

    def close(self):
        for how in signal.SIGINT, signal.SIGQUIT, signal.SIGKILL:    # ends sessions, too; then those that do not end
            self.process.send_signal(how)
            try:
                self.process.wait(LIMIT if how == signal.SIGINT else 10)
                break
            except subprocess.TimeoutExpired:
                pass
        shutil.rmtree(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

"""node.py - the client of npm, `redis` with `@redis/bloom`, at a server with the module, in RESP2 and RESP3

usage: node.py MODULE PROGRAM [FOLDER WITH node_modules]

npm brings the client, 16 MB, into a temporary folder if none is given. Exits 77 where node or npm is not, or has no registry.
"""
import os
import shutil
import subprocess
import sys
import tempfile

PACKAGE = 'redis@6'


def main():
    os.environ['BLOOMERY_REDIS_MODULE'], os.environ['BLOOMERY_PROGRAM'] = (os.path.realpath(path) for path in sys.argv[1:3])
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    from server import SERVER, Server
    if not (SERVER and shutil.which('node') and shutil.which('npm')):
        print('skipped: redis-server, node or npm is not installed')
        return 77
    with tempfile.TemporaryDirectory() as top:
        folder = sys.argv[3] if len(sys.argv) > 3 else top
        if folder == top and subprocess.run(['npm', 'install', '--prefix', top, '--no-audit', '--no-fund', '--silent', PACKAGE],
                                            check=False).returncode:
            print(f'skipped: npm cannot install {PACKAGE}')
            return 77
        with Server() as server:
            return subprocess.run(['node', f'{here}/node.js', f'{server.folder}/s'], check=False,
                                  env={**os.environ, 'NODE_PATH': f'{folder}/node_modules'}).returncode


if __name__ == '__main__':
    sys.exit(main())

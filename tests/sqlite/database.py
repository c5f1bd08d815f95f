"""database.py - a store in a temporary folder, and connections of SQLite that have the extension"""
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

EXTENSION = os.environ['BLOOMERY_SQLITE']
PROGRAM = os.environ['BLOOMERY_PROGRAM']
NUMBERS = 'WITH RECURSIVE numbers(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM numbers WHERE x < {})'


class Case(unittest.TestCase):
    """Each test has a store of its own with an empty filter `seen`, and one connection."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='blm-', dir='/tmp')
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = f'{self.folder}/store'
        os.environ['BLOOMERY_STORE'] = self.store
        self.bloomery('create', 'seen', '-n', '1m', '-p', '0.001', '--seed', '1')
        self.db = self.connect()

    def connect(self, path=':memory:', **options):
        db = sqlite3.connect(path, isolation_level=None, **options)
        self.addCleanup(db.close)
        db.enable_load_extension(True)
        db.load_extension(EXTENSION)
        db.enable_load_extension(False)
        return db

    def bloomery(self, *words, keys=''):
        ran = subprocess.run([PROGRAM, *words], input=keys if isinstance(keys, bytes) else keys.encode(), capture_output=True, check=False)
        self.assertLess(ran.returncode, 2, ran.stderr)
        return ran.stdout.decode()

    def ask(self, sql, *values, db=None):
        """The first value of the first row."""
        return (db or self.db).execute(sql, values).fetchone()[0]

    def refused(self, says, sql, *values, db=None):
        with self.assertRaisesRegex(sqlite3.Error, says):
            self.ask(sql, *values, db=db)

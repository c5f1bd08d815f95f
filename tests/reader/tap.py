"""tap.py - print what the test runner reads: one line a test, in the Test Anything Protocol"""

import sys
import traceback


class Tap:
	def __init__(self):
		self.count = self.failed = 0

	def ok(self, holds, name, why=''):
		self.count += 1
		self.failed += not holds
		print('%sok %d - %s' % ('' if holds else 'not ', self.count, name))
		if not holds and why:
			print('\n'.join('# ' + line for line in str(why).splitlines()))

	def equal(self, got, want, name):
		self.ok(got == want, name, 'got  %r\nwant %r' % (got, want))

	def skip(self, name, why):
		self.ok(True, '%s # SKIP %s' % (name, why))

	def run(self, name, test, *args):
		"""A test that fails by an exception, or gives a list of what is wrong."""
		try:
			wrong = test(*args)
		except Exception:
			wrong = [traceback.format_exc()]
		self.ok(not wrong, name, '\n'.join((wrong or [])[:10]))

	def done(self):
		print('1..%d' % self.count)
		sys.exit(self.failed > 0)

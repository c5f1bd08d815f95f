"""references.py - under a debug build of Python: calls of bloomery keep no reference

usage: references.py FOLDER     (bloomery is in PYTHONPATH, with a core of the debug build; files are made in FOLDER)
"""
import array
import gc
import os
import sys

import bloomery
from bloomery import Filter

ROUNDS = 100


class Arrow:
    null_count, type, offset = 0, 'string', 0

    def __len__(self):
        return 2

    def buffers(self):
        return [None, array.array('i', [0, 1, 2]), b'ab']


def failing(f, wrong):
    yield lambda: f.add(wrong)
    yield lambda: f.add_many(['x', wrong])
    yield lambda: f.add_many(array.array('d', [1.0]))
    yield lambda: f.remove('a')
    yield lambda: f.remove_many(array.array('q', [1]))
    yield lambda: f.packed('add', b'a', array.array('i', [0, 9]))
    yield lambda: f.packed('add', b'a', b'123')
    yield lambda: Filter.create('refs.blm', 10)
    yield lambda: f.contains_range(1, 2)
    yield lambda: f.put_many(['a'], [1, 2])
    yield lambda: f.get('a')
    yield lambda: f.update(add=['a'])
    yield lambda: f.export_delta(f)
    yield lambda: f.apply_delta(b'x')
    yield lambda: f.compare(3)
    yield lambda: f.close()     # it has a view


def work():
    with Filter.open('refs.blm') as f:
        for many in ['a', 1, bytearray(b'b')], iter('xyz'), array.array('q', [1, 2]), Arrow():
            f.claim_many(many)
        'a' in f, f.add('q'), f.claim(5), f.test(memoryview(b'x'))
        view = memoryview(f)
        for call in failing(f, object()):
            try:
                call()
            except Exception:
                continue
            raise AssertionError('nothing failed')
        view[1:], view.release()
        f.info, f.data, f.template(), f.copy(), f.estimate(), f.to_base64(), len(f), f | f, f == f, f.compare(f), repr(f), f.verify()
    memoryview(Filter(100, 0.01, kind='window', options='slots=4,span=60')).release()
    recent = Filter(100, 1e-6, kind='recent', options='span=60')
    recent.claim_again(['a', 'b'], 5), recent.ages(['a', 'c']), recent.contains_within(['a'], 1)
    built = Filter.build('built.blm', ['a', 'b'], 10, kind='golomb', replace=True)
    built.update(add=['c'])
    exact = Filter.build('exact.blm', ['a'], 1, kind='exact', exclude=['b', 'c'], replace=True)
    before = exact.copy('before.blm') if not os.path.exists('before.blm') else Filter.open('before.blm', 'r')
    exact.update(add=['a', 'b'], exclude=['c'])
    try:
        before.apply_delta(exact.export_delta(before))
    except bloomery.Error:
        pass
    with bloomery.Store('refs') as store:
        Filter.create('named', 10, store=store, replace=True)
        list(store), store.list(), store.find('named'), 'none' in store


def held():
    gc.collect()
    return sys.gettotalrefcount()


def main():
    os.chdir(sys.argv[1])
    Filter.create('refs.blm', 1000, 0.01).close()
    for _ in range(20):
        work()
    files, before = len(os.listdir('/proc/self/fd')), held()
    for _ in range(ROUNDS):
        work()
    kept = held() - before
    print(f'# {ROUNDS} rounds kept {kept} references')
    return abs(kept) >= ROUNDS // 2 or len(os.listdir('/proc/self/fd')) != files


if __name__ == '__main__':
    sys.exit(main())

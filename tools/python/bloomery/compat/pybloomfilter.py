"""The interface of pybloomfiltermmap3 0.6.3 on Bloomery.

    from bloomery.compat.pybloomfilter import BloomFilter

    fruit = BloomFilter(100, 0.1, "/tmp/fruit.bloom")
    fruit.update(("apple", "pear"))
    "apple" in fruit, len(fruit)        # (True, 2), also in other processes and when it is opened again

The file is Bloomery's; to_base64("pybloomfiltermmap") and export() make pybloomfiltermmap's. Where the original loses
keys or counts, this does not: writers share a file, `len` is kept in it, and pickling keeps every key.
Keys are str (UTF-8), bytes, numbers (8 bytes of their hash(), which is the same in every process), and tuples of these.
Another object, and a NaN, is a key by its hash(), which can differ between processes: a file gives a RuntimeWarning for it.
"""
import array
import os
import tempfile
import warnings
from typing import Any, Dict, Iterable, Optional, Union

from .. import Error, Filter, NotAFilter, NotPermitted, ReadOnly, _core

VERSION = (0, 6, 3)
__VERSION__ = ".".join(map(str, VERSION))
AUTHOR = "the authors of Bloomery, after Michael Axiak and Prashant Sinha"


class IndeterminateCountError(ValueError):
    """Kept for programs that catch it: `len` is an estimate where the count is not known."""


_STABLE = (str, bytes, int, float, complex, type(None))


def _is_stable(key: Any) -> bool:
    return all(map(_is_stable, key)) if type(key) is tuple else type(key) in _STABLE or type(key) is bool


def _bytes(key: Any, shared: bool) -> Any:
    if isinstance(key, (str, bytes)):
        return key
    if isinstance(key, memoryview):
        return key.tobytes()
    if isinstance(key, (int, float, complex)) and key == key:  # a NaN differs from itself, and its hash() is its address
        return hash(key)  # 8 bytes, the same in every process, as the original has it
    if key is None or type(key) is tuple and _is_stable(key):
        return repr(key)
    number = hash(key)
    if shared:
        warnings.warn(f"a key of {type(key)!r} is added by its hash(), which may differ in another process: give str, "
                      "bytes or numbers", RuntimeWarning, stacklevel=3)
    return number


def _masked(perm: int) -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return perm & ~mask


def _path(filename: Any) -> Optional[str]:
    path = None if filename is None else os.fsdecode(filename)
    return path or None


class BloomFilter:
    """BloomFilter(capacity, error_rate, filename=None, perm=0o755): a filter in a file, or in memory without a name."""

    _filter: Filter
    _path: Optional[str] = None

    def __init__(self, capacity: int, error_rate: float, filename: Any = None, perm: int = 0o755,
                 hash_seeds: Optional[Iterable[int]] = None, data_array: Optional[bytes] = None) -> None:
        seeds = list(hash_seeds or ())
        if not 0 < error_rate < 1:
            raise ValueError("error_rate allowable values: 0 < error_rate < 1")
        if not all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds):
            raise ValueError("hash_seeds are whole numbers from 0 to 2**32 - 1")
        if data_array is not None and (filename or not seeds or not data_array):
            raise ValueError("data_array is for a filter in memory, is not empty, and needs hash_seeds")
        path = _path(filename)
        self._path = path and os.path.abspath(path)
        shape: Dict[str, Any] = {"cells": 8 * len(data_array), "kind": "classic", "hash": "mm3_64"} if data_array else \
            {"hash": "mm3_64"}
        def make(where: Optional[str], replace: bool = False) -> Filter:
            return Filter.create(where, capacity, error_rate, seeds=seeds, mode=_masked(perm), replace=replace, **shape)

        if path and os.path.exists(path) and not _is_filter(path):
            # as the original replaces what has the name, but only once the filter is made
            self._filter = self._put(path, make)._filter
        else:
            self._filter = make(path, bool(path))
        if data_array:
            self._filter._unite(data_array)

    @classmethod
    def _of(cls, filter: Filter, path: Optional[str]) -> "BloomFilter":
        self = cls.__new__(cls)
        self._filter, self._path = filter, path and os.path.abspath(path)
        return self

    @classmethod
    def _put(cls, path: Optional[str], make: Any) -> "BloomFilter":
        """What make(PATH) makes, in the place of what has the name, once it is whole."""
        if path is None:
            return cls._of(make(None), None)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as folder:
            make(os.path.join(folder, "new")).close()
            os.replace(os.path.join(folder, "new"), path)
        return cls.open(path)

    @classmethod
    def open(cls, filename: Any, mode: str = "rw") -> "BloomFilter":
        """Open a filter; without "w" in mode for reading, also a file of the original."""
        path = _path(filename) or ""
        try:
            if "w" in mode:
                return cls._of(Filter.open(path), path)
            return cls._of(Filter.open(path, "r"), path)
        except NotAFilter:
            raise ValueError(f"Invalid BloomFilter file: {path}") from None
        except NotPermitted:
            raise OSError("Insufficient permissions") from None

    @classmethod
    def from_base64(cls, filename: Any, string: Union[str, bytes], perm: int = 0o755,
                    hash: Optional[str] = None) -> "BloomFilter":
        """Make a filter of what to_base64() gave, or the original did."""
        return cls._put(_path(filename),
                        lambda path: Filter.from_base64(path, string, mode=_masked(perm), hash=hash))

    def copy(self, filename: Any) -> "BloomFilter":
        """A copy in another file."""
        mode = os.stat(self.filename).st_mode & 0o777
        return self._put(_path(filename), lambda path: self._open.copy(path, mode=mode))

    def copy_template(self, filename: Any, perm: int = 0o755) -> "BloomFilter":
        """An empty filter of the same parameters, which can be united with this one."""
        return self._put(_path(filename), lambda path: self._open.template(path, mode=_masked(perm)))

    def to_base64(self, format: Optional[str] = None) -> bytes:
        """The filter as text."""
        self.filename
        return self._open.to_base64(format)

    def export(self, path: Any) -> None:
        """Write a file that the original opens."""
        self._open.export(path, "pybloomfiltermmap")

    @property
    def _open(self) -> Filter:
        if self._filter.closed:
            raise ValueError("I/O operation on closed file")
        return self._filter

    @property
    def _writable(self) -> Filter:
        if self.read_only:
            raise ValueError("BloomFilter is read-only")
        return self._open

    # ---- Keys ----

    def add(self, item: Any) -> bool:
        """True: all its bits were set before."""
        if item.__class__ is str:  # the usual keys; a filter that is closed or for reading raises ValueError, too
            return not self._filter.add(item)
        return not self._writable.add(_bytes(item, self._path is not None))

    def update(self, iterable: Iterable[Any]) -> None:
        """Add them all."""
        filter, shared = self._writable, self._path is not None
        filter.add_many(_bytes(item, shared) for item in iterable)

    def __contains__(self, item: Any) -> bool:
        if item.__class__ is str:
            return item in self._filter
        return _bytes(item, self._path is not None) in self._open

    def __len__(self) -> int:
        return len(self._open)

    def __bool__(self) -> bool:
        return True

    # ---- The whole filter ----

    def union(self, other: "BloomFilter") -> "BloomFilter":
        return self._combine(other, 0)

    def intersection(self, other: "BloomFilter") -> "BloomFilter":
        return self._combine(other, 1)

    __ior__, __iand__ = union, intersection

    def _combine(self, other: "BloomFilter", op: int) -> "BloomFilter":
        if not isinstance(other, BloomFilter):
            raise TypeError(f"a BloomFilter is needed, not {type(other)!r}")
        self._writable._combine_into(other._open, op)
        return self

    def clear_all(self) -> None:
        self._writable.clear()

    def sync(self) -> None:
        self._writable.sync()

    def close(self) -> None:
        self._filter.close()

    def fileno(self) -> int:
        """Not the descriptor, which the library keeps for itself: opens the file anew once, for reading."""
        if not hasattr(self, "_file"):
            self._file = open(self.filename, "rb")
        return self._file.fileno()

    def __reduce__(self) -> Any:
        info = self._open.info
        if self._path is not None:
            return _reopen, (type(self), self._path, "r" if self.read_only else "rw")
        return _from_export, (type(self), self._filter.export(format="bloomery"))

    @property
    def read_only(self) -> bool:
        return not self._filter._write

    @property
    def filename(self) -> str:
        self._open
        if self._path is None:
            raise NotImplementedError("Cannot access filename of an in-memory filter")
        return self._path if os.path.isabs(self._path) else os.path.abspath(self._path)

    @property
    def name(self) -> bytes:
        warnings.warn("name will be deprecated in future versions; use filename", PendingDeprecationWarning, stacklevel=2)
        return os.fsencode(self.filename)

    capacity = property(lambda self: self._open.info.capacity)
    error_rate = property(lambda self: self._open.info.rate)
    num_bits = property(lambda self: self._open.info.cells)
    num_hashes = property(lambda self: self._open.info.probes)
    hash_seeds = property(lambda self: array.array("I", self._open.info.seeds))
    bit_count = property(lambda self: self._open.estimate(True).ones)
    approx_len = property(lambda self: round(self._open.estimate(True).keys.value))
    data_array = property(lambda self: self._open.data[:(self.num_bits + 7) // 8])
    bit_array = property(lambda self: int.from_bytes(self.data_array, "big"))

    def __repr__(self) -> str:
        return f"<BloomFilter capacity: {self.capacity}, error: {self.error_rate:.3f}, num_hashes: {self.num_hashes}>"


def _is_filter(path: str) -> bool:
    try:
        Filter.open(path, "r").close()
    except Error:
        return False
    return True


def _reopen(cls: Any, path: str, mode: str) -> Any:
    return cls.open(path, mode)


def _from_export(cls: Any, data: bytes) -> Any:
    return cls._of(Filter.import_(None, data=data), None)

"""Filter: one filter, in memory, in a file, or in a store."""
import errno
import operator
import os
import warnings
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union

from . import _core
from ._answers import Answers
from ._errors import Closed, Exists
from ._store import Path, Store, _encoded

Key = Union[str, int, bytes, bytearray, memoryview]
F = TypeVar("F", bound="Filter")
Bytes = bytes
CONTAINS, ADD, CLAIM, REMOVE, PUT, GET, WITHIN, AGAIN, ADD_AT, AGES, BUILD, EXCLUDE, COMING, GOING = range(14)


class DifferentParameters(UserWarning):
    """open_or_create() found a filter with other parameters than those that were given."""


@dataclass(frozen=True)
class Info:
    """What a filter is. Sizes are in bytes, times in nanoseconds since 1970, rates are probabilities."""

    format: str
    origin: Optional[str]
    name: str
    path: str
    kind: str
    hash: str
    scheme: str
    bit_order: str
    options: str
    caveat: Optional[str]
    caution: Optional[str]
    labels: str
    cells: int
    probes: int
    cell_bits: int
    parts: int
    version: int
    tweak: int
    capacity: int
    keys: int
    created: int
    bytes: int
    data_bytes: int
    checkpoint_bytes: int
    synced: int
    lost_blocks: int
    can: int
    rate: float
    rate_at_capacity: float
    rate_at_keys: float
    keyed: bool
    keys_estimated: bool
    sparse: bool
    sealed: bool
    foreign: bool
    dirty: bool
    older: bool
    suspect: bool
    from_catalog: bool
    template_id: "Bytes"
    uuid: "Bytes"
    seeds: Tuple[int, ...]


class Value(NamedTuple):
    """An estimate with its standard error."""

    value: float
    error: float


class Estimate(NamedTuple):
    """What the bits say: shares of cells, probabilities, and numbers of keys."""

    fill: Value
    rate: Value
    keys: Value
    saturated: bool
    ones: int


class Comparison(NamedTuple):
    """Two filters of one template: estimated numbers of keys, and two shares."""

    a: Value
    b: Value
    both: Value
    common: Value
    jaccard: Value
    tanimoto: Value
    difference: Value
    saturated: bool


class Finding(NamedTuple):
    """One thing that is wrong with a filter."""

    file: str
    what: str
    repaired: bool
    lost: bool
    name: Optional[str]


class Plan(NamedTuple):
    """Sizes on paper."""

    kind: str
    cells: int
    probes: int
    data_bytes: int
    file_bytes: int
    capacity: int
    rate: float
    predicted_rate: float
    bits_per_key: float


def _whole(name: str, value: Any, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    if isinstance(value, bool) or not 0 <= number <= most:
        raise ValueError(f"{name} is a whole number from 0 to {most}, not {value!r}")
    return number


def _place(where: Optional[Path], store: Optional[Store]) -> Tuple[Any, Optional[Bytes]]:
    if where is None and store is not None:
        raise TypeError("a filter in a store has a name")
    return (store._handle if store is not None else None), (None if where is None else _encoded(where))


def _params(how: int, where: Optional[Path], store: Optional[Store], capacity: int = 0, rate: float = 0.0, *,
            kind: Optional[str] = None, options: Optional[str] = None, hash: Optional[str] = None,
            scheme: Optional[str] = None, format: Optional[str] = None, cells: int = 0, probes: int = 0,
            seeds: Iterable[int] = (), tweak: int = 0, secret: Optional[bytes] = None, mode: int = 0,
            replace: bool = False, sparse: bool = False, no_checkpoint: bool = False) -> Tuple[Any, ...]:
    if isinstance(rate, (str, bytes)):
        raise TypeError(f"rate is a probability between 0 and 1, not {rate!r}")
    return (how, *_place(where, store), kind, options, hash, scheme, format, _whole("capacity", capacity, 2**47),
            float(rate), _whole("cells", cells, 2**47), _whole("probes", probes, 256), tuple(seeds), tweak, secret, mode,
            replace, sparse, no_checkpoint)


def _nanoseconds(seconds: float) -> int:
    if not 0 <= seconds < 2**33:
        raise ValueError(f"seconds: from 0 to 2**33, not {seconds!r}")
    return max(round(seconds * 10**9), 1) if seconds else 0    # 0 is the filter's span, and no short time


def _place_of(key: Any) -> Any:
    """A key of a range filter: its hash takes digits, not the 8 bytes that an int is for other kinds."""
    return str(key) if isinstance(key, int) and not isinstance(key, bool) else key


def _is_buffer(keys: Any) -> bool:
    try:
        memoryview(keys).release()
    except TypeError:
        return _is_arrow(keys)
    return True


def _lines(path: Path) -> Iterator[Bytes]:
    with open(path, "rb") as file:
        for line in file:
            yield line[:-1] if line.endswith(b"\n") else line


def _give(builder: Any, op: int, keys: Any, kind: Optional[str]) -> None:
    if keys is None:
        return
    if kind == "range" and not _is_buffer(keys):
        keys = (_place_of(key) for key in keys)
    builder.use(op, *(_arrow(keys) if _is_arrow(keys) else (keys,)))


def plan(capacity: int = 0, rate: float = 0.0, **params: Any) -> Plan:
    """What create() would make of these parameters; makes nothing."""
    return Plan(*_core.plan(*_params(0, None, None, capacity, rate, **params)))


class Filter(_core.Handle):
    """A filter of the Bloom family. `key in f` is certain when False and wrong at the filter's rate when True.

    Filter(1000000, 0.001) is in memory. Filter.create(), Filter.open() and Filter.open_or_create() take a path, or a
    name and a `store`. Any number of threads and processes share one file.

    Keys: `bytes`, `bytearray`, `memoryview` and other buffers of bytes by their bytes; `str` as UTF-8; `int` from -2**63
    to 2**63 - 1 as 8 bytes, little-endian, two's complement, which is the key that a numpy int64 has. bool, float, None,
    tuples, buffers of other types and all else raise TypeError.

    memoryview(f) is the raw data, read-only. It is the map itself, so it shows keys that are added later, by any process.
    If another file takes the filter's place, as by clear(), the view keeps the old data. A filter of several parts (kinds
    scalable, window and the like) gives a copy. close() raises BufferError while a view onto the map exists.

    A filter pickles by its path, also into another process. One in memory does not: use export().
    """

    _where: Optional[str] = None
    _store: Optional[Store] = None
    _write = True

    def __init__(self, capacity: int, rate: float = 0.0, **params: Any) -> None:
        self._adopt(_core.make(*_params(0, None, None, capacity, rate, **params))[0])

    @classmethod
    def _wrap(cls: Type[F], handle: Any, where: Optional[Path] = None, store: Optional[Store] = None,
              write: bool = True) -> F:
        self = cls.__new__(cls)
        self._adopt(handle)
        if where is not None:
            self._where = os.fsdecode(where) if store is not None else os.path.abspath(os.fsdecode(where))
        self._store, self._write = store, write
        return self

    # ---- Making and opening ----

    @classmethod
    def create(cls: Type[F], where: Optional[Path], capacity: int = 0, rate: float = 0.0, *,
               store: Optional[Store] = None, **params: Any) -> F:
        """Make an empty filter and open it for writing. Exists if the name is taken and `replace` is not set.

        `capacity` is in keys. `rate` is the probability of a false positive at capacity; 0 is the usual 0.01. Also:
        kind, options, hash, scheme, format, cells, probes, seeds, tweak, secret (16 bytes), mode, replace, sparse,
        no_checkpoint, as in struct blm_params of bloomery.h.
        """
        return cls._wrap(_core.make(*_params(0, where, store, capacity, rate, **params))[0], where, store)

    @classmethod
    def open(cls: Type[F], where: Path, mode: str = "w", *, store: Optional[Store] = None,
             secret: Optional[bytes] = None) -> F:
        """Open a filter that exists: "w" to change it too, "r" for reading, also another program's file."""
        if mode not in ("r", "w"):
            raise ValueError(f'mode is "r" or "w", not {mode!r}')
        return cls._wrap(_core.open(*_place(where, store), mode == "w", secret), where, store, mode == "w")

    @classmethod
    def open_or_create(cls: Type[F], where: Path, capacity: int = 0, rate: float = 0.0, *,
                       store: Optional[Store] = None, **params: Any) -> F:
        """Open a filter for writing, or make it. An existing one keeps its parameters.

        A DifferentParameters warning says which of the parameters given were not used.
        """
        handle, message = _core.make(*_params(1, where, store, capacity, rate, **params))
        if message is not None:
            warnings.warn(message, DifferentParameters, stacklevel=2)
        return cls._wrap(handle, where, store)

    @classmethod
    def build(cls: Type[F], where: Optional[Path], keys: Any = None, capacity: int = 0, rate: float = 0.0, *,
              files: Iterable[Path] = (), store: Optional[Store] = None, exclude: Any = None, **params: Any) -> F:
        """Make a filter from all its keys at once: an iterable, or an array. It appears when it is whole.

        files: paths of files whose lines are keys, too, without their newlines, as the program `bloomery` takes them.
        exclude: keys that the filter is to deny without a false positive, for kind="exact". For kind="range" an int is
        its decimal digits, where the keys are an iterable.
        """
        if isinstance(files, (str, bytes, os.PathLike)):
            raise TypeError("files is a list of paths, not one path")
        builder = _core.make(*_params(2, where, store, capacity, rate, **params))
        for path in files:
            _give(builder, BUILD, _lines(path), None)
        for op, some in (BUILD, keys), (EXCLUDE, exclude):
            _give(builder, op, some, params.get("kind"))
        return cls._wrap(builder.finish(), where, store)

    @classmethod
    def import_(cls: Type[F], where: Optional[Path], *, file: Optional[Path] = None, data: Optional[bytes] = None,
                store: Optional[Store] = None, format: Optional[str] = None, base64: bool = False,
                hash: Optional[str] = None, known: Optional[bytes] = None, record: Optional[str] = None, mode: int = 0,
                max_bytes: int = 0) -> F:
        """Make a filter from another program's file or bytes.

        Ambiguous if it does not say which hash made it, or which of several filters is meant. `known`: a key that is in
        it, which rules out hashes. `record`: which one of a file of several, as a column of Parquet.
        """
        if (file is None) == (data is None):
            raise TypeError("import_() takes either file or data")
        path = None if file is None else _encoded(file)
        handle = _core.import_(False, *_place(where, store), path, data, format, base64, hash, known, mode, max_bytes,
                               record)
        return cls._wrap(handle, where, store)

    @classmethod
    def open_foreign(cls: Type[F], path: Path, *, format: Optional[str] = None, hash: Optional[str] = None,
                     known: Optional[bytes] = None, record: Optional[str] = None) -> F:
        """Open another program's file as it is, for reading. The parameters are those of import_()."""
        handle = _core.import_(True, None, None, _encoded(path), None, format, False, hash, known, 0, 0, record)
        return cls._wrap(handle, path, None, False)

    @classmethod
    def from_base64(cls: Type[F], where: Optional[Path], text: Union[str, bytes], **how: Any) -> F:
        """Make a filter from what to_base64() gave."""
        return cls.import_(where, data=text.encode() if isinstance(text, str) else text, base64=True, **how)

    def template(self: F, where: Optional[Path] = None, *, store: Optional[Store] = None, mode: int = 0) -> F:
        """Make an empty filter of the same parameters, which combines with this one."""
        return type(self)._wrap(self._template(False, *_place(where, store), mode), where, store)

    def copy(self: F, where: Optional[Path] = None, *, store: Optional[Store] = None, mode: int = 0) -> F:
        """Make a full copy."""
        return type(self)._wrap(self._template(True, *_place(where, store), mode), where, store)

    # ---- Keys ----

    def test(self, key: Key) -> bool:
        """The same as `key in f`."""
        return key in self

    def contains_many(self, keys: Any) -> Answers:
        """Ask for many keys: an iterable, or an array.

        An array exports the buffer protocol: whole numbers or bytes of one width, as numpy's int64 or S16. A key is its
        bytes: an int32 is 4 bytes, and S16 is 16 bytes with the zeros at its end. An Arrow array of strings or binary
        is taken as it is. Keys of a list are converted before the first one is used; keys of an iterator, 65536 at a
        time. Every exception that ends a batch has the answers so far in `answers`, and in `used` how many keys these
        are of.
        """
        return self._run(CONTAINS, keys)

    def add_many(self, keys: Any) -> Answers:
        """Add many keys. Yes: the filter changed."""
        return self._run(ADD, keys)

    def claim_many(self, keys: Any) -> Answers:
        """Claim many keys. Yes: this caller was the first."""
        return self._run(CLAIM, keys)

    def remove_many(self, keys: Any) -> Answers:
        """Take many keys out; no arrays of one width. Yes: the key was there."""
        return self._run(REMOVE, keys)

    def put_many(self, keys: Any, values: Iterable[int]) -> int:
        """Give keys their values, one for each key. Returns how many changed the filter."""
        return Answers(*self._use(PUT, keys, values)).yes

    def get_many(self, keys: Any, default: Any = None) -> List[Any]:
        """The values of keys, as contains_many() takes them."""
        values: List[Any] = self._use(GET, keys, default)
        return values

    # ---- Times and ranges ----

    def contains_within(self, keys: Any, seconds: float = 0) -> Answers:
        """Which of many keys were seen in the last so many seconds? 0: within the filter's span. Kind recent."""
        return Answers(*self._use(WITHIN, keys, (_nanoseconds(seconds), 0, None)))

    def claim_again(self, keys: Any, seconds: float = 0) -> Answers:
        """Claim those of many keys that were not seen in the last so many seconds, and note them as seen now.

        Yes: the key is this caller's. 0: within the filter's span. Kind recent.
        """
        return Answers(*self._use(AGAIN, keys, (_nanoseconds(seconds), 0, None)))

    def add_at(self, keys: Any, time: float) -> Answers:
        """Note that many keys were seen at a time, in seconds since 1970 as of time.time(). Kind recent.

        Of two sights the later one counts, and a time to come counts as now.
        """
        if not time > 0:
            raise ValueError(f"time: in seconds since 1970 and above 0, not {time!r}")
        return Answers(*self._use(ADD_AT, keys, (0, _nanoseconds(time), None)))

    def ages(self, keys: Any, default: Any = None, seconds: float = 0) -> List[Any]:
        """How many seconds ago many keys were seen; `default` for those not seen in the last so many. Kind recent."""
        ages: List[Any] = self._use(AGES, keys, (_nanoseconds(seconds), 0, default))
        return ages

    def contains_range(self, first: Any, last: Any) -> bool:
        """Is any key from first to last in the filter, those two included? False is certain. Kind range.

        A key is text as the filter's hash takes it, as "2026-11-24T12:00:00Z" or "10.0.0.0/8"; an int is its digits.
        """
        return self.contains_ranges([(first, last)])[0]

    def contains_ranges(self, ranges: Iterable[Tuple[Any, Any]]) -> Answers:
        """The same for many ranges, several times as fast."""
        pairs = [(_place_of(first), _place_of(last)) for first, last in ranges]
        return Answers(*self._ranges(tuple(first for first, _ in pairs), tuple(last for _, last in pairs)))

    def packed(self, what: str, data: Any, offsets: Any) -> Answers:
        """Keys in one buffer: `what` is "contains", "add", "claim" or "remove"; offsets of 4 or 8 bytes as Arrow's."""
        calls = ("contains", "add", "claim", "remove")
        if what not in calls:
            raise ValueError(f'what is "contains", "add", "claim" or "remove", not {what!r}')
        return Answers(*self._packed(calls.index(what), data, offsets))

    def _run(self, op: int, keys: Any) -> Answers:
        return Answers(*self._use(op, keys))

    def _use(self, op: int, keys: Any, *more: Any) -> Any:
        return self._packed(op, *_arrow(keys), *more) if _is_arrow(keys) else self._many(op, keys, *more)

    # ---- The whole filter ----

    def __len__(self) -> int:
        """How many keys it holds: adds that changed it, by anyone; after a union, an estimate."""
        return self._count()[0]

    def __bool__(self) -> bool:
        return True

    @property
    def closed(self) -> bool:
        """Was close() called?"""
        return self._is_closed()

    @property
    def info(self) -> Info:
        """What the filter is; reads its header."""
        return Info(**self._info())

    @property
    def data(self) -> bytes:
        """A copy of the raw data, as format-spec.md says for the kind.

        memoryview(f) has the same bytes without a copy, as the class says.
        """
        return self._data()

    def sync_every(self, keys: int = 0, seconds: float = 0) -> None:
        """Let adds and claims sync by themselves, after so many new keys or seconds; 0: never."""
        self._sync_every(keys, seconds)

    def grow(self, force: bool = False) -> None:
        """Make it twice as large, without its keys, in one step for everyone; kinds d-left and recent.

        InvalidParameter where the rate would go above what it was made for and `force` is not set.
        """
        self._grow(force)

    def estimate(self, exact: bool = False) -> Estimate:
        """How full, how wrong, how many. exact: read all of it, not a sample of 16 MiB."""
        fill, rate, keys, saturated, ones = self._estimate(exact)
        return Estimate(Value(*fill), Value(*rate), Value(*keys), saturated, ones)

    def compare(self, other: "Filter") -> Comparison:
        """Sizes and overlap of two filters of one template; reads all of both."""
        *values, saturated = self._compare(other)
        a, b, both, common, jaccard, tanimoto, difference = (Value(*value) for value in values)
        return Comparison(a, b, both, common, jaccard, tanimoto, difference, saturated)

    def update(self, other: Optional["Filter"] = None, *, add: Any = None, remove: Any = None, exclude: Any = None,
               secret: Optional[Bytes] = None) -> None:
        """Unite with a filter of the same template, while others add keys; or change a filter that was built.

        add, remove: keys that come into a filter of kind golomb or range, and keys that leave a golomb filter with
        options="counted=1". add, exclude: all keys that a filter of kind exact has, and all that it denies, as they are
        now. Keys are as build() takes them. A new file takes the place of the old one in one step, for all processes. It
        has a path or a name in a store; `secret` is that of a keyed filter, if it is not beside the file.
        """
        if other is not None:
            if not (add is remove is exclude is secret is None):
                raise TypeError("update() takes either a filter or keys")
            self._combine_into(other, 0)
            return
        if add is remove is exclude is None:
            raise TypeError("update() takes a filter, or keys as add, remove or exclude")
        kind = self.info.kind
        exact = bool(self.info.can & _core.CAN_EXCLUDE)
        if exact and (add is None or exclude is None or remove is not None):
            raise TypeError(f"an update of kind {kind} takes all keys of the filter as add, and all that it denies as exclude")
        if exclude is not None and not exact:
            raise TypeError(f"exclude is for the kind exact, and this filter is of kind {kind}")
        updater = _core.update(*self._file("update"), secret)
        for op, keys in (COMING, add), (GOING, remove), (GOING, exclude):
            _give(updater, op, keys, kind)
        updater.finish()

    def export_delta(self, old: "Filter") -> Bytes:
        """What updates added to a filter of kind exact since it was as `old`, for those who have it as it was."""
        return self._delta(old)

    def apply_delta(self, delta: Bytes, *, secret: Optional[Bytes] = None) -> bool:
        """Bring a filter of kind exact up to date, in one step for all processes. False: it has these data already.

        Stale if the delta was made for another state of the filter. The filter has a path or a name in a store.
        """
        return _core.apply_delta(*self._file("apply_delta"), secret, delta)

    def _file(self, call: str) -> Tuple[Any, Optional[Bytes]]:
        self.status()
        if self._where is None:
            raise ValueError(f"{call}() needs a filter that has a file, and this one is in memory")
        return _place(self._where, self._store)

    def intersection_update(self, other: "Filter") -> None:
        """Keep what another filter of the same template holds, too."""
        self._combine_into(other, 1)

    def __or__(self: F, other: "Filter") -> F:
        return self._combined(other, 0)

    def __and__(self: F, other: "Filter") -> F:
        return self._combined(other, 1)

    def __ior__(self: F, other: "Filter") -> F:
        if not isinstance(other, Filter):
            return NotImplemented
        self._combine_into(other, 0)
        return self

    def __iand__(self: F, other: "Filter") -> F:
        if not isinstance(other, Filter):
            return NotImplemented
        self._combine_into(other, 1)
        return self

    def _combined(self: F, other: "Filter", op: int) -> F:
        if not isinstance(other, Filter):
            return NotImplemented
        both = self.copy()
        both._combine_into(other, op)
        return both

    def __eq__(self, other: object) -> bool:
        """The same template and the same bits."""
        if not isinstance(other, Filter):
            return NotImplemented
        return self is other or (self._same_template(other) and self._data() == other._data())

    __hash__ = None  # type: ignore[assignment]

    # ---- Other forms ----

    def export(self, path: Optional[Path] = None, format: Optional[str] = None, *, base64: bool = False,
               fresh: bool = False, replace: bool = False, mode: int = 0, redis_key: Optional[str] = None) -> bytes:
        """Write the filter as another program's file, or return its bytes where there is no path.

        Exists if the file exists, whatever it is, and `replace` is not set.
        """
        where = None if path is None else _encoded(path)
        if where is None or replace:
            return self._export(where, format, base64, fresh, replace, mode, redis_key)
        mine = _reserve(where, mode)
        try:
            return self._export(where, format, base64, fresh, False, mode, redis_key)
        except BaseException:
            if mine is not None and os.path.lexists(where) and os.path.samestat(os.lstat(where), mine):
                os.unlink(where)
            raise

    def to_base64(self, format: Optional[str] = None) -> bytes:
        """The filter as text: Bloomery's form, or that of `format`."""
        return self.export(format=format, base64=True)

    def verify(self, *, repair: bool = False) -> List[Finding]:
        """Check all of the file. repair: set all bits of damaged blocks, so that no key is denied."""
        if self._where is None:
            raise ValueError("a filter in memory has no file to check")
        found = _core.verify(*_place(self._where, self._store), None, int(repair))
        return [Finding(*each) for each in found]

    def __reduce__(self) -> Any:
        if self.closed:
            raise Closed(0, "the filter is closed")
        if self._where is None:
            raise TypeError("a filter in memory cannot be pickled: give it a path, or use export()")
        return _reopen, (type(self), self._where, "w" if self._write else "r", self._store)

    def __enter__(self: F) -> F:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<bloomery.Filter, closed>"
        info = self.info
        return (f"<bloomery.Filter {info.name or info.path or 'in memory'}: {info.kind}, capacity {info.capacity}, "
                f"rate {info.rate:.3g}, {info.keys} keys>")


def _reopen(cls: Type[F], where: str, mode: str, store: Optional[Store]) -> F:
    return cls.open(where, mode, store=store)


def _reserve(path: bytes, mode: int) -> Optional[os.stat_result]:
    """Take a path that is free, by an empty file. None: the library fails on this path, too, with its own message."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode or 0o666)
    except FileExistsError:
        raise Exists(errno.EEXIST, f"{os.fsdecode(path)}: exists; give replace=True to write over it") from None
    except OSError:
        return None
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _is_arrow(keys: Any) -> bool:
    return hasattr(keys, "buffers") and hasattr(keys, "null_count")


def _arrow(array: Any) -> Tuple[Any, Any]:
    """The data and offsets of an Arrow array of strings, by its own buffers()."""
    if array.null_count:
        raise TypeError("the Arrow array has nulls, which are no keys; drop them first")
    width = {"string": 4, "utf8": 4, "binary": 4, "large_string": 8, "large_utf8": 8, "large_binary": 8}
    if str(array.type) not in width:
        raise TypeError(f"an Arrow array of strings or binary is needed, not of {array.type}")
    buffers, size = array.buffers(), width[str(array.type)]
    if not len(array) or buffers[1] is None:
        return b"", memoryview(bytes(size)).cast("i" if size == 4 else "q")
    offsets = memoryview(buffers[1]).cast("B")[array.offset * size:(array.offset + len(array) + 1) * size]
    return buffers[2] if buffers[2] is not None else b"", offsets.cast("i" if size == 4 else "q")

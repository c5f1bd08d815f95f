"""Store: a directory of filters with a catalog."""
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Union

from . import _core

if TYPE_CHECKING:
    from ._filter import Filter

Path = Union[str, bytes, "os.PathLike[str]"]


def _encoded(path: Path) -> bytes:
    """The bytes of a path, which need not be UTF-8."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


class Store:
    """A directory of filters. Names are looked up in its catalog, which remembers what each filter is.

    Store("seen-sets")["news"] opens a filter for writing. `create`: make the directory if there is none. `read`: change
    nothing. `anyone`: take a store that every user of the machine may change.
    """

    def __init__(self, directory: Path, *, create: bool = True, read: bool = False, anyone: bool = False) -> None:
        self._flags = (1 if create and not read else 0) | (2 if read else 0) | (4 if anyone else 0)
        self.directory = os.path.abspath(os.fsdecode(directory))
        self._handle = _core.StoreHandle(_encoded(self.directory), self._flags)

    def __reduce__(self) -> Any:
        return _reopen, (self.directory, self._flags)

    def __getitem__(self, name: str) -> "Filter":
        from ._filter import Filter
        return Filter.open(name, store=self)

    def __contains__(self, name: str) -> bool:
        from ._errors import NotFound
        try:
            self._handle.find(_encoded(name))
        except NotFound:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return (found["name"] for found in self._handle.list(None))

    def list(self, pattern: Optional[str] = None) -> List[Dict[str, Any]]:
        """What the catalog knows of every filter, or of those whose names match, as fnmatch(3) has it."""
        return self._handle.list(pattern)

    def find(self, name: str) -> Dict[str, Any]:
        """What the catalog knows of a filter, as of its last sync; opens no file."""
        return self._handle.find(_encoded(name))

    def rename(self, old: str, new: str) -> None:
        """One step. Exists if `new` is taken."""
        self._handle.change(1, _encoded(old), _encoded(new), None)

    def drop(self, name: str) -> None:
        """Take a filter out and delete its file. Other handles raise Stale when they change it."""
        self._handle.change(0, _encoded(name), None, None)

    def label(self, name: str, key: str, value: Optional[str]) -> None:
        """Set a label, or take it away with None."""
        self._handle.change(2, _encoded(name), key, value)

    def publish(self, name: str, source: "Filter", *, writable: bool = False, mode: int = 0) -> None:
        """Put a sealed copy of a filter under a name, in one step for all processes."""
        self._handle.publish(_encoded(name), source, mode, int(writable))

    def close(self) -> None:
        """Close the catalog. Filters that are open stay open."""
        self._handle.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<bloomery.Store {self.directory!r}>"


def _reopen(directory: str, flags: int) -> Store:
    return Store(directory, create=bool(flags & 1), read=bool(flags & 2), anyone=bool(flags & 4))

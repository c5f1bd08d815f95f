"""The exceptions: one tree, with the library's message and its errno value."""
import errno
from typing import Optional


class Error(OSError):
    """What the library failed with. `errno` is the value, `strerror` the message.

    `answers`: None, or the bitmap of the keys of a batch that were used before the failure. `used`: how many keys.
    """

    answers: Optional[bytes] = None
    used: Optional[int] = None

    def __str__(self) -> str:
        return str(self.strerror)


class InvalidParameter(Error, ValueError):
    """A parameter is out of its range."""


class Unsupported(Error, ValueError):
    """This kind of filter, or this hash, cannot do that."""


class TemplateMismatch(Error, ValueError):
    """The filters do not have the same parameters, so they do not combine."""


class Full(Error):
    """The filter is full, and its kind does not grow."""


class KeyRemoved(Error, ValueError):
    """The key was removed, and this kind of filter does not take it again."""


class KeyMissing(Error):
    """The secret key of a keyed filter is missing, or another one was given."""


class Stale(Error):
    """The filter was dropped, or its file was deleted or replaced by another program."""


class Damaged(Error):
    """The filter or the catalog is damaged, or must be rebuilt."""


class NotAFilter(Error, ValueError):
    """The file is no filter, is too short, or is of a newer version."""


class ReadOnly(Error, ValueError):
    """A change through a handle for reading, or to a sealed filter."""


class Ambiguous(Error, ValueError):
    """The file does not say which hash made it, or has several filters: give `hash`, `known` or `record`."""


class Closed(Error, ValueError):
    """The filter, the store or the builder is closed."""


class NotFound(Error, FileNotFoundError):
    """There is no such filter, store or file."""


class Exists(Error, FileExistsError):
    """The name is taken."""


class NotPermitted(Error, PermissionError):
    """This user may not do that."""


_TREE = {
    0: Closed, errno.EINVAL: InvalidParameter, errno.EOPNOTSUPP: Unsupported, errno.ERANGE: InvalidParameter,
    errno.EFBIG: InvalidParameter, errno.EDOM: Unsupported, errno.EMEDIUMTYPE: TemplateMismatch,
    errno.EXFULL: Full, errno.EKEYREVOKED: KeyRemoved, errno.ENOKEY: KeyMissing,
    errno.ESTALE: Stale, errno.EUCLEAN: Damaged, errno.EIO: Damaged, errno.EBADMSG: NotAFilter,
    errno.EPROTONOSUPPORT: NotAFilter, errno.ENODATA: NotAFilter, errno.EBADF: ReadOnly, errno.EROFS: ReadOnly,
    errno.ENOTUNIQ: Ambiguous, errno.ENOENT: NotFound, errno.EEXIST: Exists, errno.EACCES: NotPermitted,
    errno.EPERM: NotPermitted,
}


def error_of(code: int, message: str, answers: Optional[bytes]) -> Error:
    error = _TREE.get(code, Error)(code, message)
    error.answers = answers
    return error

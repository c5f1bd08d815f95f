"""bloomfilter.py - the calls of pybloomfiltermmap3 on Bloomery, and an example of a binding to it

	fruit = BloomFilter(100, 0.1, 'fruit.blm')	# without a path: in memory, where to_base64() and copy() work, too
	fruit.update(['apple', 'banana'])
	'apple' in fruit, len(fruit)			# (True, 2), also in other processes, and when it is opened again
The file is Bloomery's. fruit.export('fruit.bloom') and fruit.to_base64('pybloomfiltermmap') make pybloomfiltermmap's, for
open(path, 'r') and from_base64(). Where these cannot tell which hash made it, hash='mm3_64' is that of pybloomfiltermmap3.
"""
import array, ctypes, errno, os, tempfile
from ctypes import byref
from ctypes import c_bool as b, c_char as c, c_char_p as s, c_double as d, c_uint32 as u32, c_uint64 as u64, c_void_p as p

# ---- bloomery.h: its structs, each with all its fields in order; what its functions take; how they fail ----
def struct(**fields):	# some begin with their size
	def begin(self, **values):
		ctypes.Structure.__init__(self, **{'size': ctypes.sizeof(self)} if 'size' in fields else {}, **values)
	return type('struct', (ctypes.Structure,), {'_fields_': list(fields.items()), '__init__': begin})

Params = struct(size=u64, kind=s, options=s, hash=s, scheme=s, format=s, capacity=u64, rate=d, cells=u64, probes=u32,
	seed_count=u32, seeds=ctypes.POINTER(u64), tweak=u64, secret=p, mode=u32, replace=b, sparse=b, no_checkpoint=b)
Info = struct(size=u64, format=s, origin=s, name=c * 256, path=c * 4096, kind=s, hash=s, scheme=s, bit_order=s,
	options=c * 512, caveat=s, cells=u64, probes=u32, cell_bits=u32, parts=u32, version=u32, seed_count=u32, seeds=u64 *
	256, tweak=u64, keyed=b, key_id=c * 8, capacity=u64, rate=d, rate_at_capacity=d, rate_at_keys=d, keys=u64,
	keys_estimated=b, template_id=c * 16, uuid=c * 16, created=u64, bytes=u64, data_bytes=u64, shadow_bytes=u64,
	caution=s, sparse=b, sealed=b, foreign=b, dirty=b, older=b, catalog_keys=u64, catalog_synced=u64, suspect=b,
	capacity_computed=b, rate_computed=b, unchecked=b, synced=u64, epoch=u64, synced_epoch=u64, suspect_epoch=u64,
	can=u32, lost_blocks=u32, from_catalog=b, labels=c * 1536)
Exchange = struct(size=u64, format=s, base64=b, strict=b, hash=s, known=p, known_count=u64, seeds=p, seed_count=u32,
	cells=u64, probes=u64, record=s, max_bytes=u64, mode=u32, allocate=b, everything=b, secret=p, column=s, row_group=u64,
	fresh=b, replace=b, power_of_two=b, redis_key=s)
Estimate = struct(fill=d * 2, rate=d * 2, keys=d * 2, saturated=b, sampled_bytes=u64, ones=u64)	# d * 2: a value, its error

takes = dict(create=(p, p, s, p), open=(p, p, s, b), open_foreign=(p, s, p), template=(p, p, s, p, u32), sync=(p,),
	copy=(p, p, s, p, u32), contains=(p, s, u64), add=(p, s, u64), count=(p, p, p), clear=(p,), info=(p, p),
	estimate=(p, b, p), combine_into=(p, u32, p, u64, d, p), data_read=(p, u64, p, u64), close=(p,),
	import_bytes=(p, p, s, p, s, u64), export_bytes=(p, p, p, p), export_file=(p, p, s))
of_values = {getattr(errno, 'E' + name) for name in ('INVAL OPNOTSUPP MEDIUMTYPE BADMSG PROTONOSUPPORT NODATA UCLEAN '
	'NOTUNIQ NOKEY XFULL STALE BADF DOM FBIG').split()}	# something is not what it must be; all else is the system's
def checked(result, function, args):
	if result < 0:
		why = os.fsdecode(lib.blm_error_message())
		raise ValueError(why) if -result in of_values else OSError(-result, why)
	return result
lib = ctypes.CDLL(os.environ.get('BLOOMERY_LIBRARY', 'libbloomery.so.0'))
for name, types in takes.items():
	function = getattr(lib, 'blm_' + name)
	function.argtypes, function.errcheck = types, checked
lib.blm_contains.restype, lib.blm_error_message.restype = b, s

# ---- Python's values as C takes them ----
def text(value):	# a path or a name; None is NULL
	if value is not None and b'\0' in (value := os.fsencode(value)): raise ValueError('embedded null byte')
	return value
def key_of(value):	# bytes and their number; not by hash(), which differs between processes and so loses keys
	if isinstance(value, int): value = int.__hash__(value).to_bytes(8, 'little', signed=True)	# as pybloomfiltermmap3 has it
	try: value = value.encode() if isinstance(value, str) else bytes(memoryview(value))
	except TypeError: raise TypeError(f'{type(value).__name__}: a key is str, bytes-like or int; encode it') from None
	return value, len(value)
def masked(perm):	# less the umask, as open(2) takes it; the library gives a file exactly what it is told
	return (os.umask(mask := os.umask(0o077)), perm & ~mask)[1]

class BloomFilter:
	_pointer, read_only = None, False

	def __init__(self, capacity, error_rate, filename=None, perm=0o755, hash_seeds=None):
		path, seeds = text(filename), list(hash_seeds or ())
		if not (0 < capacity < 2**47 and 0 < error_rate < 1 and all(0 <= seed < 2**32 for seed in seeds)):
			raise ValueError('the capacity, the error rate or a seed is out of its range')
		if path and os.path.exists(path) and not os.path.getsize(path):
			os.remove(path)		# as tempfile leaves it; filters are replaced, files of other sorts refused
		self._take(lib.blm_create, None, path, byref(Params(hash=b'mm3_64', capacity=capacity, rate=error_rate,
			seeds=(u64 * len(seeds))(*seeds), seed_count=len(seeds), mode=masked(perm), replace=True)))
	def _take(self, make, *args):
		self._pointer = p()
		make(byref(self._pointer), *args)
		return self
	@classmethod
	def _put(cls, filename, make, *args):	# in the place of what is at the path: once it is whole, not before
		self, path = cls.__new__(cls), text(filename)
		if path is None: return self._take(make, None, None, *args)
		with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or b'.') as folder:
			self._take(make, None, folder + b'/new', *args).close()
			os.replace(folder + b'/new', path)
		return cls.open(path)
	@classmethod
	def open(cls, filename, mode='rw', hash=None):
		self, path = cls.__new__(cls), text(os.fsencode(filename))
		self.read_only = 'w' not in mode
		if self.read_only: return self._take(lib.blm_open_foreign, path, byref(Exchange(hash=text(hash))))
		return self._take(lib.blm_open, None, path, 1)  # BLM_OPEN_WRITE

	def copy(self, filename=None):
		return self._put(filename, lib.blm_copy, self._handle, os.stat(self.name).st_mode & 0o777 if self._info.path else 0)
	def copy_template(self, filename=None, perm=0o755):
		return self._put(filename, lib.blm_template, self._handle, masked(perm))
	@classmethod
	def from_base64(cls, filename, string, perm=0o755, hash=None):
		how = Exchange(base64=True, hash=text(hash), mode=masked(perm))
		return cls._put(filename, lib.blm_import_bytes, byref(how), *key_of(string))
	def to_base64(self, format=None):	# None: that which the filter came in; Bloomery's, where it was made here
		how, data, size = Exchange(base64=True, format=text(format)), p(), u64()
		lib.blm_export_bytes(self._handle, byref(how), byref(data), byref(size))
		string = ctypes.string_at(data, size.value)
		lib.blm_free(data)
		return string
	def export(self, to): lib.blm_export_file(self._handle, byref(Exchange(format=b'pybloomfiltermmap')), text(os.fsencode(to)))

	def add(self, key): return not lib.blm_add(self._handle, *key_of(key))		# was it there (or seemed to be)?
	def update(self, keys):
		for key in keys: self.add(key)
	def __contains__(self, key): return lib.blm_contains(self._handle, *key_of(key))
	def __len__(self):	# how many adds were of new keys, ever; after a union or an intersection, an estimate
		lib.blm_count(self._handle, byref(count := u64()), byref(b()))
		return count.value
	def union(self, other, operation=0):
		if not isinstance(other, BloomFilter): raise TypeError(f'a BloomFilter is needed, not {other!r}')
		lib.blm_combine_into(self._handle, operation, (p * 2)(self._handle.value, other._handle.value), 2, 0, None)
		return self
	def intersection(self, other): return self.union(other, 1)
	__ior__, __iand__ = union, intersection
	def clear_all(self): lib.blm_clear(self._handle)
	def sync(self): lib.blm_sync(self._handle)
	def close(self): self._pointer = lib.blm_close(self._pointer)
	__del__ = close
	def __reduce_ex__(self, protocol): raise TypeError('an open filter cannot be copied or pickled; use its copy()')
	@property
	def _handle(self):
		if not self._pointer: raise ValueError('I/O operation on closed file')
		return self._pointer
	def _ask(self, function, answer, *args):
		return (function(self._handle, *args, byref(answer)), answer)[1]
	_info = property(lambda self: self._ask(lib.blm_info, Info()))
	capacity, error_rate = property(lambda self: self._info.capacity), property(lambda self: self._info.rate)
	num_bits, num_hashes = property(lambda self: self._info.cells), property(lambda self: self._info.probes)
	hash_seeds = property(lambda self: array.array('Q', self._info.seeds[:self._info.seed_count]))
	bit_count = property(lambda self: self._ask(lib.blm_estimate, Estimate(), True).ones)
	approx_len = property(lambda self: round(self._ask(lib.blm_estimate, Estimate(), True).keys[0]))
	bit_array = property(lambda self: int.from_bytes(self.data_array, 'big'))
	@property
	def data_array(self):
		data = ctypes.create_string_buffer((self.num_bits + 7) // 8)
		lib.blm_data_read(self._handle, 0, data, len(data))
		return data.raw
	@property
	def name(self):
		if not self._info.path: raise NotImplementedError('a filter in memory has no name')
		return os.fsdecode(self._info.path)
	def __repr__(self):
		return '<BloomFilter capacity: %d, error: %0.3f, num_hashes: %d>' % (self.capacity, self.error_rate, self.num_hashes)

"""pybloomfilter, by Bloomery: put the folder above this one into PYTHONPATH to keep `import pybloomfilter` as it is."""
from bloomery.compat.pybloomfilter import AUTHOR, VERSION, BloomFilter, IndeterminateCountError, __VERSION__

__all__ = ["AUTHOR", "BloomFilter", "IndeterminateCountError", "VERSION", "__VERSION__"]

"""Files to chains and chains to files; the suffix of a file says what it is."""

from klump.files.reading import read_chain
from klump.files.writing import write_chain, write_mapped

__all__ = ["read_chain", "write_chain", "write_mapped"]

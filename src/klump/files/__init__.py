"""Read and write chains; the suffix of a file selects its format."""

from klump.files.losses import losses
from klump.files.reading import read_chain
from klump.files.writing import write_chain, write_mapped

__all__ = ["losses", "read_chain", "write_chain", "write_mapped"]

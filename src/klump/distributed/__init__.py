"""One chain on many machines: each holds a block of states, with all that leads from them and to them."""

from klump.distributed.refinement import Refinement, refine

__all__ = ["Refinement", "refine"]

"""Local search on one chain across many machines: each holds a block of states with their transitions."""

from klump.distributed.refinement import Refinement, refine

__all__ = ["Refinement", "refine"]

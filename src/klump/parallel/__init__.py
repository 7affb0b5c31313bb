"""Run independent calls: in threads, or on the backend that joblib is set to."""

from klump.parallel.cluster import run_serially
from klump.parallel.run import run_all
from klump.parallel.threads import one_thread

__all__ = ["one_thread", "run_all", "run_serially"]

"""Run independent calls: in threads, or on the engine that joblib is set to."""

from klump.parallel.cluster import alone
from klump.parallel.run import run_all
from klump.parallel.threads import one_thread

__all__ = ["alone", "one_thread", "run_all"]

"""Dynamics of chains: timescales, first passage, committors, absorption, simulation, and chains for long times."""

from klump.dynamics.chapman_kolmogorov import ChapmanKolmogorov as ChapmanKolmogorov
from klump.dynamics.lag_scan import LagScan as LagScan
from klump.dynamics.long_time import LongTimeChain as LongTimeChain

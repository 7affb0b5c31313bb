"""klump against its peers and against its own promises: interleaved runs, medians, ratios."""

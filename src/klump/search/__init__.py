"""Search for aggregations: one module per method, and the kernels that they share."""

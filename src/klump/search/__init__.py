"""How aggregations are found: one file a method, and the kernels that they share."""

"""Fuzzing: mutants of valid files, each read in a process of its own with limits on memory and time.

``python -m fuzzing`` (``make fuzz``) prints a table. A new format is one entry in ``formats.py``.
"""

"""``python -m klump`` is the same as ``klump``."""

from klump.cli import main

if __name__ == "__main__":
    main(prog_name="klump")

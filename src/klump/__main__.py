"""The program: ``klump``, and ``python -m klump``."""

# What `signal` wraps: a signal that arrives while that is imported would end in a traceback.
import _signal  # type: ignore[import-not-found]


def run() -> None:
    """Run the command line on the arguments of the process, and exit; signals are handled from the first import on."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # Until klump's handlers are there, Ctrl-C ends the process without a traceback.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from klump import signals

    signals.install()
    from klump.cli import main

    try:
        main(prog_name="klump")
    except SystemExit as end:
        signals.leave(end.code)


if __name__ == "__main__":
    run()

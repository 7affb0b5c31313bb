"""A clock for time limits: every reading is one second after the one before."""

from klump.search import deadline


class FakeClock:
    """Replaces the clock of deadlines; ``readings`` counts the calls so far, and is the time."""

    def __init__(self, monkeypatch):
        self.readings = 0
        monkeypatch.setattr(deadline, "monotonic", self.read)

    def read(self):
        self.readings += 1
        return float(self.readings)

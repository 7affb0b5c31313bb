"""The benchmark of reports, on small chains."""

from benchmarks import pages


def test_a_small_report_is_measured(tmp_path):
    pages.write_events(tmp_path / "events.csv", n_events=2_000, n_pages=20)
    words = ["events.csv", "--session", "visit", "--time", "time", "--state", "page", "--no-compare"]
    seconds, megabytes = pages.report(tmp_path, [*words, "--beta", "0.5"], "report", 120.0)
    assert seconds.measured > 0.0
    assert 1.0 < megabytes.measured < pages.SIZE

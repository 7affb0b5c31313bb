"""One local cluster of two processes per test module; a new one after a worker has died."""

import logging
import os
from contextlib import ExitStack

import pytest


class Clusters:
    """At most one cluster at a time."""

    def __init__(self):
        self.open = ExitStack()
        self.client = None

    def get_client(self):
        """Client of a cluster whose two workers both respond."""
        if self.client is None or not self._is_whole():
            self.close()
            self.client = self._start()
        return self.client

    def _is_whole(self):
        # Do not wait for the nanny to restart a dead worker: on a busy machine that may take long, or fail.
        answers = self.client.run(os.getpid, on_error="return").values()
        return len(answers) == 2 and all(isinstance(answer, int) for answer in answers)

    def _start(self):
        from dask.distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
        return self.open.enter_context(Client(self.open.enter_context(cluster)))

    def close(self):
        self.open.close()
        self.open, self.client = ExitStack(), None


@pytest.fixture(scope="module")
def clusters():
    clusters = Clusters()
    yield clusters
    clusters.close()


@pytest.fixture
def client(clusters):
    """A client of a real cluster of two processes."""
    return clusters.get_client()

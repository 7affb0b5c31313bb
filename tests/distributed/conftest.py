"""One real cluster of two processes for all tests that need one."""

import logging

import pytest


@pytest.fixture(scope="module")
def started_cluster():
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def client(started_cluster):
    """The cluster with both of its workers: one that an earlier test has killed is awaited."""
    started_cluster.wait_for_workers(2)
    return started_cluster

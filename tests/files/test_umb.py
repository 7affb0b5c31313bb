"""``.umb``: every part of the archive, what is refused, and that nothing is extracted."""

import gzip
import io
import json
import lzma
import tarfile

import numpy as np
import pytest
from scipy import sparse

import klump
from klump.errors import FileFormatError
from klump.files import losses, tar_members

N = 70  # more states than bits in a word
RING = sparse.csr_array(np.roll(np.eye(N), 1, axis=1) * 0.75 + np.eye(N) * 0.25)


@pytest.fixture
def chain():
    jumps = RING.copy()
    jumps.data = np.arange(1.0, jumps.nnz + 1)
    return klump.MarkovChain(
        RING,
        [f"i={i - 3},up={'true' if i % 2 else 'false'}" for i in range(N)],
        labels={"odd": np.arange(N) % 2 == 1, "none": [], "a/b c": ["i=-3,up=false"]},
        initial="i=62,up=true",
        rewards={"cost": np.arange(N) / 8, "jumps": jumps, "default": np.ones(N)},
    )


@pytest.fixture
def archive(tmp_path, chain):
    """Write the chain, and return its members; a function writes changed ones."""
    klump.write_chain(chain, tmp_path / "m.umb")
    with tarfile.open(tmp_path / "m.umb") as tar:
        members = {info.name: tar.extractfile(info).read() for info in tar}

    def write(changed, kinds=None):
        with tarfile.open(tmp_path / "m.umb", "w") as tar:
            for name, content in changed.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                info.type = (kinds or {}).get(name, tarfile.REGTYPE)
                tar.addfile(info, io.BytesIO(content))
        return tmp_path / "m.umb"

    return members, write


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_everything_is_kept(tmp_path, chain, compress):
    assert losses(chain, "m.umb") == []
    klump.write_chain(chain, tmp_path / "m.umb")
    (tmp_path / "m.umb").write_bytes(compress((tmp_path / "m.umb").read_bytes()))
    back = klump.read_chain(tmp_path / "m.umb")
    assert np.array_equal(back.transition_matrix.toarray(), RING.toarray())
    assert back.states == chain.states
    assert np.array_equal(back.initial, chain.initial)
    assert {label: states.tolist() for label, states in back.labels.items()} == {
        label: states.tolist() for label, states in chain.labels.items()
    }
    assert back.rewards.keys() == chain.rewards.keys()
    for name, reward in chain.rewards.items():
        assert abs(back.rewards[name] - reward).max() == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "m.umb"]


def test_names_that_are_no_valuations_are_lost():
    for names in (["a", "b"], ["s=1", "t=2"], ["s=1", "s=true"], ["s=1", f"s={10**30}"], ["s=1", "s=02"]):
        assert losses(klump.MarkovChain(np.full((2, 2), 0.5), names), "m.umb") == ["state names"]


def edit(members, **changes):
    """Change entries of the transition system in the index."""
    index = json.loads(members["index.json"])
    for key, value in changes.items():
        index["transition-system"][key.replace("n_", "#")] = value
    return {**members, "index.json": json.dumps(index).encode()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_players": 1}, "this is a MDP"),
        ({"n_players": 2}, "this is a game"),
        ({"n_players": 1, "n_observations": 3}, "this is a POMDP"),
        ({"time": "urgent-stochastic"}, "this is a MA"),
        ({"n_choices": N + 1}, "70 states have 71 choices, so that this is no Markov chain"),
        ({"n_states": 10**12}, "index.json: '1000000000000' is no #states"),
        ({"n_states": -1}, "index.json: '-1' is no #states"),
        ({"n_states": True}, "index.json: 'True' is no #states"),
        ({"n_branches": 139}, "its member 'branch-to-target.bin' has 1,120 bytes instead of 1,112"),
        ({"n_branches": 2**59}, "its member 'branch-to-target.bin' has 1,120 bytes instead of"),
        ({"n_states": 10**9, "n_choices": 10**9}, "has 568 bytes instead of 8,000,000,008"),
        (
            {"branch-probability-type": {"type": "rational", "size": 128}},
            "branch-probability-type is 'rational'",
        ),
        ({"branch-probability-type": {"type": "double-interval", "size": 128}}, "is 'double-interval'"),
        ({"branch-probability-type": 3}, "index.json is damaged"),
    ],
)
def test_other_models_and_wrong_sizes(archive, changes, message):
    members, write = archive
    with pytest.raises(FileFormatError, match=f"m.umb: .*{message}") as error:
        klump.read_chain(write(edit(members, **changes)))
    assert str(error.value).isprintable()


def test_rates_need_ctmc(archive):
    members, write = archive
    rates = np.linspace(1, 2, N).astype("<f8").tobytes()
    path = write({**edit(members, time="stochastic"), "state-to-exit-rate.bin": rates})
    with pytest.raises(FileFormatError, match="the file holds rates of a CTMC; pass ctmc=True"):
        klump.read_chain(path)
    chain = klump.read_chain(path, ctmc=True)
    expected = RING.toarray() * np.linspace(1, 2, N)[:, None]
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(
        chain.transition_matrix.toarray(), klump.MarkovChain.from_generator(expected).transition_matrix
    )
    with pytest.raises(FileFormatError, match=r"its member 'state-to-exit-rate\.bin' is missing"):
        klump.read_chain(write(edit(members, time="stochastic")), ctmc=True)


@pytest.mark.parametrize("name", ["index.json", "choice-to-branches.bin", "branch-to-probability.bin"])
def test_missing_members(archive, name):
    members, write = archive
    with pytest.raises(
        FileFormatError, match=f"m.umb: .*{name}.* is missing|m.umb: the archive has no index.json"
    ):
        klump.read_chain(write({key: value for key, value in members.items() if key != name}))


@pytest.mark.parametrize("name", ["../x.bin", "/tmp/klump-x.bin", "a/../../x.bin", "..\\x.bin"])
def test_members_outside_the_archive(archive, tmp_path, name):
    members, write = archive
    with pytest.raises(FileFormatError, match="points outside the archive"):
        klump.read_chain(write({**members, name: b"x"}))
    assert list(tmp_path.iterdir()) == [tmp_path / "m.umb"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices(archive, kind):
    members, write = archive
    with pytest.raises(FileFormatError, match="is a link, a device or a sparse file"):
        klump.read_chain(write({"state-is-initial.bin": b"", **members}, {"state-is-initial.bin": kind}))


def test_damaged_content(archive, monkeypatch):
    members, write = archive
    target = np.frombuffer(members["branch-to-target.bin"], "<u8").copy()
    target[3] = 2**63 + 1
    for name, content, message in (
        ("branch-to-target.bin", target.tobytes(), "its transition matrix is damaged"),
        ("choice-to-branches.bin", bytes(8 * (N + 1)), "its transition matrix is damaged"),
        ("index.json", b"[1]", "index.json is damaged"),
        ("index.json", b"[" * 100_000, "index.json is nested too deeply|index.json is damaged"),
        ("index.json", b'{"format-version": 2}', "index.json has the format version '2', not 1"),
        ("state-to-choices.bin", bytes(8 * (N + 1)), "a state has several choices, or none"),
        ("valuations/states/valuations.bin", b"x", "its valuations have 1 bytes instead of"),
    ):
        with pytest.raises(FileFormatError, match=message):
            klump.read_chain(write({**members, name: content}))
    monkeypatch.setattr(tar_members, "_MAX_MEMBERS", 3)
    with pytest.raises(FileFormatError, match="more than 3 members"):
        klump.read_chain(write(members))


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(tar_members, "FREE_ARCHIVE_BYTES", 1000)
    (tmp_path / "m.umb").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(FileFormatError, match=r"it expands from 0\.0 MB to more than"):
        klump.read_chain(tmp_path / "m.umb")

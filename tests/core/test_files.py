import os
import threading

import pytest

from rotting._core.files import replacing


def test_the_old_file_stays_if_something_goes_wrong(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_threads_that_replace_the_same_file_do_not_meet(tmp_path):
    """Each file is whole, whoever was last; a name made of the process id alone would be shared by the threads."""
    path = tmp_path / "file"
    failures = []

    def write(letter: str) -> None:
        try:
            for _ in range(50):
                with replacing(path) as temporary:
                    temporary.write_text(letter * 10_000)
                assert len(set(path.read_text())) == 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(path.read_text()) == 10_000
    assert os.listdir(tmp_path) == ["file"]


def test_the_folder_is_synced_after_the_rename(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(os.fstat(descriptor).st_ino), real(descriptor)))
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]

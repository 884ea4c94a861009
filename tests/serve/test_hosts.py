"""Several hosts on one PostgreSQL: whoever is asked forwards to the owner. Any of them may die, hang, or leave."""

import contextlib
import signal
import socket
import time

from rotting import Bandit
from rotting.bandit import StorageError, open_store
from rotting.bandit.store import Deadline, Question
from rotting.serve import link
from serve.test_durability import Load, server_process
from serving import ARMS, free_port, make_bandit, postgres, postgres_server, serving


def hosts(url, number=2):
    """Return the ports of so many hosts, and what they are started with."""
    return [(free_port(), ("--processes", "1", "--meet", f"127.0.0.1:{free_port()}")) for _ in range(number)]


def test_hosts_share_bandits_and_take_over_from_who_dies_hangs_or_leaves(postgres):
    for name in ("hero", "other", "third"):
        make_bandit(postgres, name)
    (one, first), (two, second) = hosts(postgres)
    with server_process(postgres, one, *first) as here, server_process(postgres, two, *second) as there:
        with Load(one) as mine, Load(two) as theirs:
            mine.wait_for(40)
            theirs.wait_for(40)
            for end in (signal.SIGSTOP, signal.SIGKILL):
                there.send_signal(end)
                mine.wait_for(len(mine.decided) + 60)
                before = len(mine.refused)
                mine.wait_for(len(mine.decided) + 60)
                assert len(mine.refused) == before  # nobody asks it any more
                if end == signal.SIGSTOP:
                    there.send_signal(signal.SIGCONT)
                    theirs.wait_for(len(theirs.decided) + 20)
        assert set(mine.refused) <= {503}
        here.send_signal(signal.SIGTERM)
        assert here.wait(timeout=60) == 0
    mine.check(postgres)
    theirs.check(postgres)


def test_a_host_that_hangs_in_a_transaction_keeps_others_waiting_until_its_deadline(postgres):
    make_bandit(postgres)
    hanging = open_store(postgres)
    with hanging.reading():
        [row] = hanging.bandits()
    with contextlib.suppress(StorageError), hanging.writing(Deadline(0.5)):
        hanging.look_up({row.id: Question(1)}, lock=True)
        began = time.monotonic()
        with Bandit.open(postgres, "hero") as bandit:
            bandit.decide(timeout=20.0)
        assert time.monotonic() - began < 5.0


def test_strangers_can_ask_nothing(postgres):
    make_bandit(postgres)
    meeting = free_port()
    with serving(postgres, meet=("127.0.0.1", meeting)):
        stranger = [link.Proof("x", b"y"), link.Asked(1, "hero", [[1, None, None]])]
        for said in (stranger, stranger[1:], b"\xff" * 2000):
            content = said if isinstance(said, bytes) else link._encode(said)
            with socket.create_connection(("127.0.0.1", meeting), timeout=10) as connection:
                connection.sendall(len(content).to_bytes(4, "big") + content)
                assert len(b"".join(iter(lambda c=connection: received(c), b""))) < 100  # a nonce, and no more
    with Bandit.open(postgres, "hero") as bandit:
        assert bandit.standing().events == len(ARMS)


def received(connection):
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1000)
    return b""

"""Several hosts on one PostgreSQL: whoever is asked forwards to the owner. Any of them may die, hang, or leave."""

import os
import signal
import time

import pytest

from rotting import Bandit
from serve.test_durability import Load, server_process
from serve.test_processes import children, reached
from serving import free_port, make_bandit, postgres, postgres_server, serving, wait_until


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

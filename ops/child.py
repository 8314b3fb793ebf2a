"""Starts child processes that die with their owner, and PostgreSQL as something other than root."""

import ctypes
import os
import pwd
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000
_NOBODY_UID = 65534


class Identity(StrEnum):
    """As whom the database server runs."""

    SELF = "self"  # an ordinary user: as they are
    NAMESPACE = "namespace"  # root, mapped to nobody inside a user namespace: files stay root's
    NOBODY = "nobody"  # root where user namespaces are refused: setuid nobody


def die_with_owner(sig: signal.Signals) -> Callable[[], None]:
    """A pre-exec step: the kernel sends `sig` to the child when the owner's thread ends, even by kill -9."""
    owner = os.getpid()

    def step() -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(sig))
            if os.getppid() != owner:  # the owner died between fork and prctl
                os._exit(1)

    return step


def _enter_user_namespace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are refused here")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{_NOBODY_UID} 0 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{_NOBODY_UID} 0 1", encoding="ascii")


def _become_nobody() -> None:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


def database_preexec(identity: Identity) -> Callable[[], None]:
    """The pre-exec step of the database server: change identity first, because that clears the death signal."""
    die = die_with_owner(signal.SIGINT)  # SIGINT is PostgreSQL's fast, clean shutdown

    def step() -> None:
        if identity is Identity.NAMESPACE:
            _enter_user_namespace()
        elif identity is Identity.NOBODY:
            _become_nobody()
        die()

    return step


def _namespaces_allowed() -> bool:
    """Tried in a throw-away child, since unshare changes the caller."""
    pid = os.fork()
    if pid == 0:
        try:
            _enter_user_namespace()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def database_identity() -> Identity:
    """As whom the database server can run on this machine."""
    if os.geteuid() != 0:
        return Identity.SELF
    return Identity.NAMESPACE if _namespaces_allowed() else Identity.NOBODY

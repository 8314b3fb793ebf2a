"""Starts a program that dies with its owner, and PostgreSQL as something other than root; a script on the standard library alone."""

import argparse
import ctypes
import os
import pwd
import signal
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000
_NOBODY_UID = 65534


class Identity(StrEnum):
    """As whom the program runs."""

    SELF = "self"  # as its owner
    NAMESPACE = "namespace"  # root, mapped to nobody inside a user namespace: files stay root's
    NOBODY = "nobody"  # root where user namespaces are refused: setuid nobody


def command(program: list[str], *, dying: signal.Signals, identity: Identity = Identity.SELF) -> list[str]:
    """The command line that runs the program so that it gets the signal `dying` when the calling thread ends, even by kill -9."""
    # A script of its own instead of a pre-exec function: those are unsafe in a process with threads.
    own = ["--owner", str(os.getpid()), "--dying", dying.name, "--identity", identity.value]
    return [sys.executable, "-I", "-S", __file__, *own, "--", *program]


def database_identity() -> Identity:
    """As whom the database server can run on this machine."""
    if os.geteuid() != 0:
        return Identity.SELF
    tried = subprocess.run(command(["/bin/true"], dying=signal.SIGKILL, identity=Identity.NAMESPACE), capture_output=True, check=False)
    return Identity.NAMESPACE if tried.returncode == 0 else Identity.NOBODY


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


def main() -> None:
    """Change identity, ask for the death signal, become the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owner", type=int, required=True)
    parser.add_argument("--dying", required=True)
    parser.add_argument("--identity", type=Identity, required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.identity is Identity.NAMESPACE:
        _enter_user_namespace()
    elif options.identity is Identity.NOBODY:
        _become_nobody()
    if sys.platform == "linux":  # after the change of identity, which clears it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.Signals[options.dying]))
    if os.getppid() != options.owner:  # the owner died before the kernel knew to tell us
        sys.exit(1)
    os.execv(options.program[0], options.program)


if __name__ == "__main__":
    main()

"""Which code can reach the code of deciding, and which program is handed the secrets of it."""

from __future__ import annotations

import grimp

from ops import programs

ROOTS = ("edge", "services", "kit", "ops")
# What decides, carries out, or holds the key that decisions are signed with.
DECIDING = ("services.approvals", "services.executor", "kit.decisions")
# The rooms of programs that work for keys are all others; kit, which every room stands on, may not reach a room at all.
ROOMS_THAT_MAY = {"services.approvals": {"services.approvals"}, "services.executor": {"services.executor"}}
SIGNERS = {"services.approvals", "services.executor", "kit.decisions", "ops"}
SECRETS = {"decision.key": "approvals", "approvals.dsn": "approvals", "approvals.key": "approvals", "decision.pub": "executor"}
SECRETS |= {"executor.dsn": "executor", "executor.key": "executor"}


def graph() -> grimp.ImportGraph:
    """Every import of ours."""
    return grimp.build_graph(*ROOTS)


def rooms(duties: programs.Table) -> list[str]:
    """The packages of programs, and kit."""
    return [*(p.module for p in duties.programs), "kit"]


def import_holes(imports: grimp.ImportGraph, duties: programs.Table) -> list[str]:
    """Chains of imports, however long, from a room to the code of deciding that is not its own."""
    found = []
    for room in rooms(duties):
        for target in DECIDING:
            own = room == target or target.startswith(f"{room}.") or room in ROOMS_THAT_MAY.get(target, ())
            signs = target == "kit.decisions" and room in SIGNERS
            if not own and not signs and imports.find_shortest_chains(room, target, as_packages=True):
                found.append(f"{room} can reach {target}")
    return found


def secret_holes(duties: programs.Table) -> list[str]:
    """Secrets of deciding in the hands of another program, images that hold its code, and roles that are not a program's own."""
    found = []
    for program in duties.programs:
        found += [f"{program.name} is handed {s}" for s in program.secrets if SECRETS.get(s, program.name) != program.name]
        for target in ("services/approvals", "services/executor"):
            own = program.module.replace(".", "/") == target
            if not own and any(target.startswith(path) for path in program.image):
                found.append(f"the image of {program.name} holds {target}")
        if program.role is not None and program.role != f"svc_{program.name}":
            found.append(f"{program.name} has the login {program.role}")
    return found

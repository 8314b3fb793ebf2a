"""Which migrations are applied, and which histories are refused."""

from pathlib import Path

import pytest

from ops.migrations import Migration, MigrationError, plan, read


def migration(number: int, digest: str = "d") -> Migration:
    return Migration(number, f"{number:04d}_step.sql", f"{digest}{number}", "SELECT 1")


def history(*applied: Migration) -> dict[str, str]:
    return {m.name: m.sha256 for m in applied}


FILES = [migration(1), migration(2), migration(3)]


def test_a_new_database_gets_every_migration_in_order() -> None:
    assert plan(FILES, {}) == FILES


def test_only_what_is_missing_is_applied() -> None:
    assert plan(FILES, history(*FILES[:2])) == FILES[2:]


def test_a_current_database_gets_nothing() -> None:
    assert plan(FILES, history(*FILES)) == []


def test_a_file_changed_after_it_was_applied_is_refused_by_name() -> None:
    with pytest.raises(MigrationError, match=r"0002_step\.sql was changed after it was applied"):
        plan(FILES, history(FILES[0], migration(2, "other")))


def test_a_database_newer_than_the_program_is_refused_by_name() -> None:
    with pytest.raises(MigrationError, match=r"0004_step\.sql was applied to this database and is not in this version"):
        plan(FILES, history(*FILES, migration(4)))


def test_a_migration_slipped_in_before_an_applied_one_is_refused_by_name() -> None:
    with pytest.raises(MigrationError, match=r"0002_step\.sql comes before 0003"):
        plan(FILES, history(FILES[0], FILES[2]))


def test_files_are_read_in_order_with_their_digest(tmp_path: Path) -> None:
    (tmp_path / "0002_b.sql").write_text("SELECT 2")
    (tmp_path / "0001_a.sql").write_text("SELECT 1")
    found = read(tmp_path)
    assert [(m.number, m.name, m.sql) for m in found] == [(1, "0001_a.sql", "SELECT 1"), (2, "0002_b.sql", "SELECT 2")]
    assert found[0].sha256 == "e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5"


@pytest.mark.parametrize("name", ["1_short.sql", "0001-dash.sql", "0001_Upper.sql", "notes.sql"])
def test_a_misnamed_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(MigrationError, match=name):
        read(tmp_path)


def test_a_number_used_twice_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "0001_a.sql").write_text("SELECT 1")
    (tmp_path / "0001_b.sql").write_text("SELECT 1")
    with pytest.raises(MigrationError, match=r"0001_b\.sql: number 0001 is already taken by 0001_a\.sql"):
        read(tmp_path)

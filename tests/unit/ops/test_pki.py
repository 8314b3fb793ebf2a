"""Certificates of a stack: who they name, and when they are made anew."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from ops.pki import ensure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROGRAMS, CLIENTS = ("auth", "edge"), ("operator",)
EVERYTHING = ["ca", "auth", "edge", "operator"]


def certificate(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())


def names(found: x509.Certificate) -> list[str]:
    san = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [*san.get_values_for_type(x509.DNSName), *map(str, san.get_values_for_type(x509.IPAddress))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert ensure(tmp_path / "pki", PROGRAMS, CLIENTS, NOW) == EVERYTHING
    return tmp_path / "pki"


def test_a_program_is_named_and_can_serve_and_call(folder: Path) -> None:
    found = certificate(folder, "auth")
    assert names(found) == ["auth.substrate", "localhost", "127.0.0.1"]
    uses = set(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert uses == {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH}


def test_a_client_can_call_but_never_serve(folder: Path) -> None:
    found = certificate(folder, "operator")
    assert names(found) == ["operator.substrate"]
    assert list(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_keys_are_readable_by_their_owner_alone(folder: Path) -> None:
    assert {p.stat().st_mode & 0o777 for p in folder.glob("*.key")} == {0o600}


def test_nothing_is_made_anew_while_everything_is_good(folder: Path) -> None:
    assert ensure(folder, PROGRAMS, CLIENTS, NOW + timedelta(days=334)) == []


def test_certificates_are_renewed_within_thirty_days_of_their_end(folder: Path) -> None:
    assert ensure(folder, PROGRAMS, CLIENTS, NOW + timedelta(days=336)) == ["auth", "edge", "operator"]
    certificate(folder, "auth").verify_directly_issued_by(certificate(folder, "ca"))


def test_a_new_authority_makes_every_certificate_anew(folder: Path) -> None:
    assert ensure(folder, PROGRAMS, CLIENTS, NOW + timedelta(days=3630)) == EVERYTHING


def test_a_missing_key_makes_that_certificate_anew(folder: Path) -> None:
    (folder / "edge.key").unlink()
    assert ensure(folder, PROGRAMS, CLIENTS, NOW) == ["edge"]


def test_a_key_that_does_not_belong_to_its_certificate_is_replaced(folder: Path) -> None:
    (folder / "edge.key").write_bytes((folder / "auth.key").read_bytes())
    assert ensure(folder, PROGRAMS, CLIENTS, NOW) == ["edge"]


def test_a_certificate_under_another_name_is_replaced(folder: Path) -> None:
    for kind in ("pem", "key"):
        (folder / f"edge.{kind}").write_bytes((folder / f"operator.{kind}").read_bytes())
    assert ensure(folder, PROGRAMS, CLIENTS, NOW) == ["edge"]


def test_the_authority_can_name_nothing_outside_the_stack(folder: Path) -> None:
    constraints = certificate(folder, "ca").extensions.get_extension_for_class(x509.NameConstraints).value
    assert constraints.permitted_subtrees == [x509.DNSName("substrate"), x509.DNSName("localhost")]

"""The private certificate authority of a stack and one certificate a program, renewed before they expire."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ops.files import write_private

RENEW_BEFORE = timedelta(days=30)
CA_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=365)
_SKEW = timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and its key."""

    cert: Path
    key: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> "Pair":
        """The files of a name in the folder."""
        return cls(folder / f"{name}.pem", folder / f"{name}.key")


def ensure(folder: Path, programs: tuple[str, ...], clients: tuple[str, ...], now: datetime) -> list[str]:
    """Make or renew what is missing, expiring, or of another authority, and return the names that were issued."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    issued = []
    ca = Pair.of(folder, "ca")
    if _expiring(_certificate(ca), now):
        _make_authority(ca, now)
        issued.append("ca")
    authority = _certificate(ca)
    assert authority is not None
    for name in (*programs, *clients):
        pair = Pair.of(folder, name)
        if not _usable(_certificate(pair), authority, name, now):
            _issue(ca, authority, pair, name, serves=name in programs, now=now)
            issued.append(name)
    return issued


def _certificate(pair: Pair) -> x509.Certificate | None:
    """The certificate, where it and the key that belongs to it are both there."""
    if not (pair.cert.exists() and pair.key.exists()):
        return None
    certificate = x509.load_pem_x509_certificate(pair.cert.read_bytes())
    return certificate if certificate.public_key() == _key(pair).public_key() else None


def _key(pair: Pair) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _expiring(certificate: x509.Certificate | None, now: datetime) -> bool:
    return certificate is None or certificate.not_valid_after_utc - now < RENEW_BEFORE


def _usable(certificate: x509.Certificate | None, authority: x509.Certificate, name: str, now: datetime) -> bool:
    if certificate is None or _expiring(certificate, now):
        return False
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return f"{name}.substrate" in names


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _make_authority(ca: Pair, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    # The serial is part of the name, so that a renewed authority is never mistaken for the one before it.
    serial = x509.random_serial_number()
    name = _name(f"substrate private CA {serial:x}"[:64])
    permitted = [x509.DNSName("substrate"), x509.DNSName("localhost")]  # gRPC's TLS library refuses constraints on addresses
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _keep(ca, certificate, key)


def _issue(ca: Pair, authority: x509.Certificate, pair: Pair, name: str, *, serves: bool, now: datetime) -> None:
    key, signer = ec.generate_private_key(ec.SECP256R1()), _key(ca)
    names: list[x509.GeneralName] = [x509.DNSName(f"{name}.substrate")]
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if serves:
        names += [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name(f"{name}.substrate"))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(min(now + LEAF_LIFE, authority.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    _keep(pair, certificate, key)


def _keep(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_private(pair.key, text)
    write_private(pair.cert, certificate.public_bytes(serialization.Encoding.PEM))

"""The one door to PostgreSQL: pools, named statements and transactions with row-security settings."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import asyncpg
import tenacity
from asyncpg import exceptions as pg

from kit import limits
from kit.errors import Refusal, unavailable

Record = asyncpg.Record
Connection = asyncpg.Connection
Error = asyncpg.PostgresError
UniqueViolation = pg.UniqueViolationError
ForeignKeyViolation = pg.ForeignKeyViolationError
IntegrityViolation = pg.IntegrityConstraintViolationError
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_SETTING = re.compile(r"[a-z_]+\.[a-z_]+")
_SETTING_VALUE = re.compile(r"[0-9a-zA-Z,_\-]*")

# A connection whose server went away. The driver calls it an internal error when the news arrives between two statements.
_GONE: Final = (pg.PostgresConnectionError, pg.InterfaceError, pg.InternalClientError)

# What a statement that could not be run means, in words fit for a caller. Anything else is a defect and is raised.
_UNREADABLE: Final[tuple[tuple[tuple[type[BaseException], ...], str], ...]] = (
    (
        (pg.UndefinedTableError, pg.UndefinedColumnError, pg.UndefinedFunctionError, pg.InvalidSchemaNameError),
        "is not present in this installation",
    ),
    ((pg.InsufficientPrivilegeError, pg.InvalidAuthorizationSpecificationError), "may not be read by this service"),
    ((pg.QueryCanceledError, pg.LockNotAvailableError, TimeoutError), "did not answer in time"),
    (
        (
            *_GONE,
            pg.OperatorInterventionError,
            pg.TooManyConnectionsError,
            pg.CannotConnectNowError,
            OSError,
        ),
        "could not be reached",
    ),
)


def why_unreadable(error: BaseException) -> str | None:
    """Words for a store that could not be read, or None when the error is a defect of ours."""
    for kinds, words in _UNREADABLE:
        if isinstance(error, kinds):
            return words
    return None


def is_absent(error: BaseException, names: Iterable[str]) -> bool:
    """Whether a statement failed because one of these columns or tables does not exist."""
    return isinstance(error, (pg.UndefinedColumnError, pg.UndefinedTableError)) and any(
        re.search(rf"\b{re.escape(name)}\b", str(error)) for name in names
    )


def is_misnamed(error: BaseException) -> bool:
    """Whether a statement names a column or function that does not exist: a defect, where an absent table may be a choice."""
    return isinstance(error, (pg.UndefinedColumnError, pg.UndefinedFunctionError, pg.PostgresSyntaxError, pg.AmbiguousColumnError))


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed later: the database was out of reach, too slow, or asked for another try."""
    return isinstance(error, (pg.TransactionRollbackError, pg.InsufficientResourcesError)) or (
        why_unreadable(error) in ("did not answer in time", "could not be reached")
    )


def is_outdated(error: BaseException) -> bool:
    """Whether all that failed is a pooled connection, or a plan, from before a restart or a migration."""
    return isinstance(error, (pg.InvalidCachedStatementError, pg.AdminShutdownError, *_GONE))


def explain(error: BaseException) -> Refusal | None:
    """The refusal of a call whose store is out of reach for now, or None when the error is a defect of ours."""
    return None if why_unreadable(error) is None else unavailable()


if TYPE_CHECKING:
    _Base = asyncpg.Connection[Record]
else:  # the driver's own class takes no parameter at run time
    _Base = asyncpg.Connection


class _Pooled(_Base):
    """A pooled connection that is not reset after use: every setting is SET LOCAL and every lock ends with its transaction."""

    def get_reset_query(self) -> str:
        """Nothing to reset; the default would cost a round trip on each use."""
        return ""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement with named parameters, and what its header comments declare."""

    name: str
    sql: str
    parameters: tuple[str, ...]
    directives: tuple[tuple[str, str], ...]

    def all(self, directive: str) -> tuple[str, ...]:
        """Every value of a header directive such as `-- note: …`."""
        return tuple(value for name, value in self.directives if name == directive)

    def one(self, directive: str, default: str = "") -> str:
        """The last value of a header directive."""
        values = self.all(directive)
        return values[-1] if values else default


def parse_statement(name: str, text: str) -> Statement:
    """Numbers the `:name` parameters of a statement and reads its `-- key: value` header."""
    parameters: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in parameters:
            parameters.append(found[1])
        return f"${parameters.index(found[1]) + 1}"

    lines = text.splitlines()
    directives = [(m[1], m[2].strip()) for m in (re.fullmatch(r"-- ([a-z_]+): (.*)", line) for line in lines) if m]
    code = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
    sql = _PARAMETER.sub(number, code)
    return Statement(name, sql.strip().rstrip(";"), tuple(parameters), tuple(directives))


def load_statement(path: Path) -> Statement:
    """Reads one .sql file that holds one statement."""
    return parse_statement(path.stem, path.read_text(encoding="utf-8"))


def load_statements(path: Path) -> dict[str, Statement]:
    """Reads one .sql file that holds several statements, each under a `-- name: …` line."""
    parts = re.split(r"^-- name: ([a-z_]+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: parse_statement(name, text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


class Database:
    """A pool of connections of one role."""

    def __init__(self, pool: asyncpg.Pool[Record]) -> None:
        self._pool = pool

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection[Record]]:
        """A connection outside any transaction."""
        try:
            taken = await self._pool.acquire(timeout=limits.POOL_ACQUIRE_SECONDS)
        except TimeoutError:
            # Every connection is busy with other work, which says nothing about the store that this caller wanted.
            raise unavailable() from None
        try:
            yield taken  # type: ignore[misc]
        finally:
            await self._pool.release(taken)

    @asynccontextmanager
    async def transaction(self, settings: Mapping[str, str], *, read_only: bool) -> AsyncIterator[Connection[Record]]:
        """A transaction in which row security sees `settings`; they end with it."""
        begin = ["BEGIN READ ONLY" if read_only else "BEGIN"]
        for name, value in settings.items():
            if not _SETTING.fullmatch(name) or not _SETTING_VALUE.fullmatch(value):
                raise ValueError("a row-security setting holds a character that ids do not have")
            begin.append(f"SET LOCAL {name} = '{value}'")
        async with self.connection() as connection:
            try:
                await connection.execute("; ".join(begin))
                yield connection
                await connection.execute("COMMIT")
            except BaseException:
                await _abandon(connection)
                raise

    async def close(self) -> None:
        """Closes every connection."""
        await self._pool.close()


async def _abandon(connection: Connection[Record]) -> None:
    """Ends a transaction that failed or was cancelled; a connection that cannot is closed, never handed on."""
    try:
        await connection.execute("ROLLBACK", timeout=limits.POOL_ACQUIRE_SECONDS)
    except Exception:  # noqa: BLE001 - the error that led here is what counts; nobody gets this connection again
        connection.terminate()
    except BaseException:
        connection.terminate()
        raise


async def connect(dsn: str, pool_size: int = limits.POOL_SIZE_DEFAULT, *, wait_seconds: float = limits.START_RETRY_SECONDS) -> Database:
    """Opens a pool, waiting for a database that is still starting."""
    settings = {"statement_timeout": f"{int(limits.STATEMENT_TIMEOUT_SECONDS * 1000)}", "application_name": "substrate"}
    attempts = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_delay(wait_seconds),
        wait=tenacity.wait_exponential(multiplier=0.05, max=1.0),
        retry=tenacity.retry_if_exception_type((OSError, pg.CannotConnectNowError, pg.PostgresConnectionError)),
        reraise=True,
    )

    async def open_pool() -> asyncpg.Pool[Record]:
        return await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=pool_size,
            connection_class=_Pooled,
            server_settings=settings,
            timeout=limits.CONNECT_TIMEOUT_SECONDS,
            command_timeout=limits.STATEMENT_TIMEOUT_SECONDS + 1,
            max_inactive_connection_lifetime=0,
        )

    return Database(await attempts(open_pool))


async def connect_one(dsn: str) -> Connection[Record]:
    """One connection of its own, for operator commands."""
    return await asyncpg.connect(dsn, timeout=limits.CONNECT_TIMEOUT_SECONDS)


class Listener:
    """Wakes somebody when a channel is notified. `renew` replaces a lost connection; what was missed meanwhile is for a sweep."""

    def __init__(self, dsn: str, channel: str, wake: Callable[[], None]) -> None:
        self._dsn, self._channel, self._wake = dsn, channel, wake
        self._connection: Connection[Record] | None = None

    async def renew(self) -> None:
        """Listens, if it does not already."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect_one(self._dsn)
            await self._connection.add_listener(self._channel, self._heard)

    def _heard(self, *_notice: object) -> None:
        self._wake()

    async def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            await self._connection.close()


def arguments(statement: Statement, values: Mapping[str, Any]) -> Iterable[Any]:
    """Values in the order of a statement's parameters."""
    return [values[name] for name in statement.parameters]

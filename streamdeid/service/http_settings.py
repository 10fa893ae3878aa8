"""Where the service listens for HTTP: on this machine only, or with a token on any interface."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import SettingsError
from streamdeid.service.toml_values import Table, check_names, path, text

LISTEN = "127.0.0.1:8090"
"""Where the service listens when the file does not set it."""
OFF = "off"
LEAST_TOKEN = 16
_MOST_TOKEN = 1024


@dataclass(frozen=True)
class HttpSettings:
    """An interface, a port and a token. Raises SettingsError for an interface other than loopback without a token."""

    host: str = "127.0.0.1"
    port: int = 8090
    """0: any free port."""
    token: str | None = field(default=None, repr=False)
    """The token that a visitor must send; None: no token is needed."""
    token_file: Path | None = None
    """The file from which the token was read."""
    own_pages_only: bool = False
    """Whether requests, even with a token, must use a name of this machine and, if a page sends them, come from the
    server's own pages. This is for servers that change data and have no proxy before them."""

    def __post_init__(self) -> None:
        if not self.loopback and self.token is None:
            raise SettingsError(f"listening on {self.host} needs a token_file: others could watch the cameras")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the host."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def opened(self) -> socket.socket:
        """A socket that listens on host and port; the caller has to close it. Raises SettingsError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((self.host, self.port))
            address = str(listening.getsockname()[0])
            if self.token is None and not ipaddress.ip_address(address).is_loopback:  # /etc/hosts may give any address
                raise SettingsError(f"{self.host} is {address} here, which needs a token_file")
            listening.listen(64)
        except SettingsError:
            listening.close()
            raise
        except (OSError, UnicodeError) as error:  # UnicodeError: the host is not a possible name
            listening.close()
            why = system_reason(error)
            raise SettingsError(f"cannot listen on {self.host} port {self.port}: {why}") from None
        listening.setblocking(False)
        return listening


def read_http(table: Table, directory: Path) -> HttpSettings | None:
    """Read the `[http]` table; None when HTTP is off. directory: of a relative token_file. Raises SettingsError."""
    try:
        return _read(table, directory)
    except SettingsError as error:
        raise SettingsError(f"[http]: {error}") from None


def _read(table: Table, directory: Path) -> HttpSettings | None:
    check_names(table, ("listen", "token_file"))
    listen = text("listen", table.get("listen", LISTEN))
    token_file = directory / path("token_file", table["token_file"]) if "token_file" in table else None
    token = read_token(token_file) if token_file is not None else None
    if listen == OFF:
        return None
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65535:
        raise SettingsError(f'listen is "host:port", as in "{LISTEN}", or "{OFF}", not {listen!r}')
    return HttpSettings(host, int(port), token, token_file)


def read_token(file: Path) -> str:
    """The token of a file, without the line end. Raises SettingsError; the message never shows the token."""
    try:
        with file.open("rb") as opened:
            token = opened.read(_MOST_TOKEN + 1).strip()
    except OSError as error:
        raise SettingsError(f"cannot read token_file {file}: {system_reason(error)}") from None
    if not LEAST_TOKEN <= len(token) <= _MOST_TOKEN:
        raise SettingsError(f"the token of {file} must have {LEAST_TOKEN} to {_MOST_TOKEN} characters")
    if not all(33 <= byte <= 126 for byte in token):
        raise SettingsError(f"the token of {file} must be one line of printable ASCII without spaces")
    return token.decode("ascii")

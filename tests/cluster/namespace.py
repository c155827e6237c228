"""A network and process namespace of its own: what runs in it reaches the loopback interface and nothing else.

When its first process ends, the kernel ends all others: no process of a cluster outlives its test.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
_INTERFACE = "16sh14x"


def inside(command: Sequence[str]) -> list[str]:
    """The command that runs another in namespaces of its own."""
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *rights, "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *command]


def why_not() -> str | None:
    """Why namespaces cannot be had here; None if they can."""
    if shutil.which("unshare") is None:
        return "there is no unshare here"
    done = subprocess.run(inside(["true"]), capture_output=True, text=True)
    return f"namespaces are not permitted here: {done.stderr.strip()}" if done.returncode else None


def bring_up_loopback() -> None:
    """In a new network namespace the loopback interface is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack(_INTERFACE, b"lo", 0)
        flags = struct.unpack(_INTERFACE, fcntl.ioctl(handle, _GET_FLAGS, request))[1]
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags | _UP))


def token_of_its_own(directory: Path) -> dict[str, str]:
    """The environment in which Ray asks for a token made for the occasion, and leaves the user's own alone."""
    path = directory / "ray-token"
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}

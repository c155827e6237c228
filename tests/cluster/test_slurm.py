"""The script for Slurm, with commands of Slurm and Ray that only note how they were called."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "slurm_ray.sh"
PATIENCE = 120  # seconds; only so that a hanging script does not hang the tests
STUBS = {
    "scontrol": 'printf "%s\\n" node1 node2 node3',
    # A trap before the note: whoever has noted that it runs also notes that it is stopped.
    "srun": """
case "$*" in *hostname*) echo "$ADDRESSES"; exit ;; esac
trap 'echo "stopped $*" >> "$LOG"; kill $! 2>/dev/null; exit 143' TERM
echo "srun $*" >> "$LOG"; echo "token $RAY_AUTH_MODE $RAY_AUTH_TOKEN" >> "$LOG"
sleep 600 & wait $!""",
    "ray": 'exit "${RAY_STATUS:-0}"',
    "fsgc": """
until [ "$(grep -c 'ray start' "$LOG")" -ge 2 ]; do sleep 0.05; done
trap 'echo "stopped fsgc" >> "$LOG"; kill $! 2>/dev/null; exit 143' TERM
echo "token $RAY_AUTH_MODE $RAY_AUTH_TOKEN" >> "$LOG"; echo "fsgc $*" >> "$LOG"
if [ -n "${FSGC_HANGS:-}" ]; then sleep 600 & wait $!; fi
exit "${FSGC_CODE:-0}" """,
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    commands, project = tmp_path / "bin", tmp_path / "project"
    commands.mkdir()
    for name, body in STUBS.items():
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (commands / name).chmod(0o755)
    (project / "tables").mkdir(parents=True)
    (project / "tables" / "params.yaml").touch()
    return {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "ADDRESSES": "203.0.113.7 10.1.2.3 192.168.0.1",
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_CPUS_PER_TASK": "16",
    }


def _run(environment: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    project = Path(environment["LOG"]).parent / "project"
    return subprocess.run(
        ["bash", str(SCRIPT), *options], env=environment, cwd=project, capture_output=True, text=True, timeout=PATIENCE
    )


def _log(environment: Mapping[str, str]) -> list[str]:
    path = Path(environment["LOG"])
    return path.read_text().splitlines() if path.exists() else []


def test_ray_is_started_on_all_nodes_and_stopped_again(environment: dict[str, str]) -> None:
    done = _run(environment, "--threads", "2", "--only", "enzymes-*")
    assert (done.returncode, done.stderr) == (0, "")
    log = _log(environment)
    head = (
        "srun --nodes=1 --ntasks=1 --nodelist=node1 --overlap ray start --head --node-ip-address=10.1.2.3 --port=6379 "
        "--num-cpus=16 --include-dashboard=false --block"
    )
    others = (
        "srun --nodes=2 --ntasks=2 --exclude=node1 --overlap ray start --address=10.1.2.3:6379 --num-cpus=16 --block"
    )
    shared = Path(environment["LOG"]).parent / "project" / "tables" / "data" / ".training"
    assert {head, others} <= set(log)
    assert f"fsgc tables run --ray 10.1.2.3:6379 --shared {shared} --threads 2 --only enzymes-*" in log
    stopped = [line for line in log if line.startswith("stopped")]
    assert sorted(stopped) == sorted(line.replace("srun", "stopped", 1) for line in (head, others))


def test_ray_asks_for_a_token_that_is_new_each_time(environment: dict[str, str]) -> None:
    tokens = []
    for _ in range(2):
        Path(environment["LOG"]).unlink(missing_ok=True)
        assert _run(environment).returncode == 0
        found = {line for line in _log(environment) if line.startswith("token")}
        assert len(found) == 1, "the same for all of an allocation"
        tokens.append(found.pop())
    assert all(re.fullmatch("token token [0-9a-f]{64}", each) for each in tokens)
    assert tokens[0] != tokens[1]
    Path(environment["LOG"]).unlink()
    _run({**environment, "RAY_AUTH_TOKEN": "mine"})
    assert "token token mine" in _log(environment)


def test_the_code_of_the_command_is_the_scripts(environment: dict[str, str]) -> None:
    assert _run({**environment, "FSGC_CODE": "3"}).returncode == 3


def test_a_signal_of_slurm_ends_everything(environment: dict[str, str]) -> None:
    project = Path(environment["LOG"]).parent / "project"
    process = subprocess.Popen(["bash", str(SCRIPT)], env={**environment, "FSGC_HANGS": "1"}, cwd=project)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not any(line.startswith("fsgc") for line in _log(environment)):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 143
    assert sum(line.startswith("stopped") for line in _log(environment)) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"SLURM_JOB_NODELIST": ""}, "not in a Slurm allocation; submit it with sbatch"),
        ({"ADDRESSES": "203.0.113.7 8.8.8.8"}, "node1 has no private address; Ray is not started on a public one"),
        ({"RAY_STATUS": "1", "FSGC_RAY_PATIENCE": "1"}, "Ray did not start on node1 within 1 seconds"),
    ],
)
def test_what_is_wrong_is_said(environment: dict[str, str], change: Mapping[str, str], reason: str) -> None:
    done = _run({**environment, **change})
    assert (done.returncode, done.stderr) == (1, f"slurm_ray.sh: {reason}\n")
    assert not any(line.startswith("fsgc") for line in _log(environment))


def test_outside_a_project_it_refuses(environment: dict[str, str]) -> None:
    (Path(environment["LOG"]).parent / "project" / "tables" / "params.yaml").unlink()
    assert "no tables/params.yaml here" in _run(environment).stderr


def test_private_addresses_are_those_of_the_standard(environment: dict[str, str]) -> None:
    """RFC 1918, RFC 6598 and the loopback network, at their edges and around."""
    private = [
        ip_network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8")
    ]
    addresses = [
        ip_address(int(edge) + step) for net in private for edge in (net[0], net[-1]) for step in (-1, 0, 1)
    ] + [ip_address(f"{first}.{second}.3.4") for first in (9, 100, 172, 192, 193) for second in range(0, 256, 5)]
    script = (
        f'. "{SCRIPT}"; for each in {" ".join(map(str, addresses))}; do is_private "$each" && echo "$each"; done; true'
    )
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(each) for each in addresses if any(each in net for net in private)]

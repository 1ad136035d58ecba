"""Prometheus and its tool: those of the machine, or those of the Debian package, fetched once."""

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Beside the packages of requirements.txt.
FOLDER = Path(sys.prefix) / "prometheus"


def program(name: str) -> str:
    """The path of `prometheus` or `promtool`. The test is skipped if there is none."""
    on_path = shutil.which(name)
    if on_path:
        return on_path
    fetched = FOLDER / "usr" / "bin" / name
    if not fetched.exists():
        _fetch()
    return str(fetched)


def _fetch():
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip("there is no `prometheus` on the PATH, and no apt-get to download it with")
    FOLDER.mkdir(parents=True, exist_ok=True)
    download = ["apt-get", "-q", "download", "prometheus"]
    done = subprocess.run(download, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode != 0 and os.geteuid() == 0:
        subprocess.run(["apt-get", "-q", "update"], capture_output=True, check=True)
        done = subprocess.run(download, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"apt-get can't download prometheus: {done.stderr.strip()}")
    (package,) = glob.glob("prometheus_*.deb", root_dir=FOLDER)
    subprocess.run(["dpkg-deb", "--extract", package, "."], cwd=FOLDER, check=True)
    (FOLDER / package).unlink()

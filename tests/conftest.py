"""What several tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import INCAST


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small incast, in a folder of its own."""
    path = tmp_path / "incast.toml"
    path.write_text(INCAST)
    return path

"""Section 4.2's rule for beta."""

from __future__ import annotations

import pytest

from weft_papers.amp import fat_tree, fig04
from weft_papers.amp.settings import AMP, K, beta_keeps_link_busy


@pytest.mark.parametrize(("beta", "keeps"), [(2, False), (3, True), (4, True)])
def test_papers_example(beta: float, keeps: bool) -> None:  # noqa: FBT001
    """The paper's example: "BDP is about 20 packets. If we set K = 10, beta >= 3"."""
    assert beta_keeps_link_busy(20, 10, beta) is keeps


def test_beta_of_the_figures_keeps_their_links_busy() -> None:
    assert all(beta_keeps_link_busy(bdp, K, AMP["beta"]) for bdp in fig04.BDP_PACKETS.values())


def test_slow_links_of_the_fat_tree_are_warned_of() -> None:
    assert fat_tree.beta_warning(fat_tree.DELAY_US) == ""
    assert "16.8 is above K = 10" in fat_tree.beta_warning(fat_tree.OTHER_DELAY_US)

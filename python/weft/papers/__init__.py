"""Papers, figure by figure: a folder a paper, a module a figure, a line here."""

from weft.papers.figure import Figure

FIGURES = (
    Figure("amp/fig02", "Incast: flow completion times of DCTCP, DCM and XMP"),
    Figure("amp/fig04", "Minimum window syndrome: DCTCP's goodput beside one XMP flow"),
    Figure("amp/fig08", "Incast: AMP beside XMP, DCM and DCTCP, 64 KB to 1 MB"),
)

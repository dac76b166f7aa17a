"""Scenes of the UEC's simulator."""

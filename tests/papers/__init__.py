"""Figures: their claims on tables made by hand, and their quick versions."""

"""Tests of `trainop run`: its pieces, and real runs with real processes."""

"""Measurements; speed belongs here and never into a test."""

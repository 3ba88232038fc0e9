"""Programs for people who work on trainop; not installed."""

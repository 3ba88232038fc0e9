"""From the v1 training operator to trainop, with jobs under way: the real old operator runs, stops, and is followed."""

"""The frameworks that come with trainop, one folder each. Installed as `trainop.frameworks`."""

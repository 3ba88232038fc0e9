"""What people do with trainop in an environment of their own, in which nothing of this checkout is found by chance."""

"""What the kinds of 2017 have in common, whatever they train with: no framework, but the ground of their dialects."""

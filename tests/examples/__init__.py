"""The examples: what stands in their folders fits together, and they train for real on this machine."""

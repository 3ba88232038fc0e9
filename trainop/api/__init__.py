"""What users write (spec.py) and read (status.py), as pydantic models; nothing else."""

"""Stories of jobs from beginning to end, told once and played on two stages: in memory and on a real server."""

"""The Helm chart, tested with helm itself on a real API server."""

"""The operator as it runs in production: real processes that are killed, stopped and lied to, on a real API server."""

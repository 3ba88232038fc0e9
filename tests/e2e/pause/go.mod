module trainop/tests/e2e/pause

go 1.24.0

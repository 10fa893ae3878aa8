"""Each figure of the documents is one of these commands: `python -m benchmarks NAME ...` (docs/benchmarks.md)."""

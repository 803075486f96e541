"""The parts of bench/run_checkpoints.py."""

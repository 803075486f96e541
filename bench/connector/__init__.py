"""The parts of bench/run_connector.py."""

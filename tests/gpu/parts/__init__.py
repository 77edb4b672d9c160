"""The parts of a visit to a GPU: calls.py lists them, and visit.py does one."""

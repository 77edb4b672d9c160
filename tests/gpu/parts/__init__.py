"""What a visit to a GPU consists of: calls.py lists the parts, and visit.py does one."""

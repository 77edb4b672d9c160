"""What a visit to a GPU consists of: proof, measure and answers are lists of parts; visit.py does one."""

python3 "$fixtures" pictures pictures cat:30 dog:20

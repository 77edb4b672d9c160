python3 "$fixtures" pictures pictures cat:8 dog:8 fox:8

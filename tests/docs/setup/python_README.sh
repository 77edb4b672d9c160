python3 "$fixtures" pictures pictures/train cat:40 dog:40
python3 "$fixtures" pictures pictures/val cat:8 dog:8

python3 "$fixtures" pictures pictures cat:8 dog:8 fox:8
python3 "$fixtures" pictures data/rare cat:4 dog:4 fox:4
printf 'base = ["tests/docs/pictures.toml"]\n' >pictures.toml

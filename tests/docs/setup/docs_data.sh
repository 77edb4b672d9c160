for folder in pictures data/clean; do python3 "$fixtures" pictures $folder cat:8 dog:8 fox:8; done
printf 'base = ["tests/docs/pictures.toml"]\n' >pictures.toml

python3 "$fixtures" pictures pictures cat:8 dog:8 fox:8
python3 "$fixtures" pictures data/rare cat:4 dog:4 fox:4
cat >pictures.toml <<'TOML'
base = ["configs/quickstart.toml"]
[data]
dataset = "image_folder"
path = "pictures"
[sampler]
size = 32
TOML

for folder in pictures data/clean; do python3 "$fixtures" pictures $folder cat:8 dog:8 fox:8; done
cat >pictures.toml <<'TOML'
base = ["configs/quickstart.toml"]
[data]
dataset = "image_folder"
path = "pictures"
[sampler]
size = 32
TOML

cat >small.toml <<'TOML'
# small
base = ["tests/docs/small.toml"]
[run]
max_iter = 504
[net]
name = "mlp"
[display]
report = false
tensorboard = false
TOML
cp small.toml CONFIG
printf 'base = ["configs/quickstart.toml"]\n[net]\nname = "resnet18"\n[optim]\nlr = 0.01\n' >resnet.toml
python3 "$fixtures" pictures pictures cat:8 dog:8 fox:8
python3 "$fixtures" pictures data/rare cat:4 dog:4 fox:4
python3 "$fixtures" pictures data/clean cat:4 dog:4 fox:4
cat >pictures.toml <<'TOML'
base = ["configs/quickstart.toml"]
[data]
dataset = "image_folder"
path = "pictures"
[sampler]
size = 32
TOML
flowtrain CONFIG --run-dir runs/NAME
for run in quickstart a b; do flowtrain configs/quickstart.toml --run-dir runs/$run; done

cat >CONFIG <<'TOML'
# small
base = ["tests/docs/small.toml"]
[run]
max_iter = 100
[net]
name = "mlp"
[display]
report = false
tensorboard = false
TOML
printf 'base = ["configs/quickstart.toml"]\n[net]\nname = "resnet18"\n[optim]\nlr = 0.01\n' >resnet.toml

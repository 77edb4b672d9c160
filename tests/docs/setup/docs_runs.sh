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
flowtrain CONFIG --run-dir runs/NAME
for run in quickstart a b; do flowtrain configs/quickstart.toml --run-dir runs/$run; done

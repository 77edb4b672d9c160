root=$(dirname "$(realpath tests)")
torch=$(flowtrain info | python3 -c 'import json, sys; print(json.load(sys.stdin)["torch_folder"])')
mkdir -p PREFIX/include
ln -s "$root" PREFIX/include/flowtrain
ln -s "$torch" TORCH
awk '/^\/\/ linear.cpp/ { on = 1 } /^```/ { on = 0 } on' docs/extending.md >mine.cpp
cp configs/quickstart.toml my.toml
python3 "$fixtures" idx digits 16 28 28
cat >my_run.toml <<'TOML'
# small
base = ["configs/fashion_mnist.toml"]
[run]
max_iter = 8
plugins = ["build/release/plugins/edges.so"]
[data]
path = "digits"
[loader]
batch = 4
TOML
cp my_run.toml edges.toml
mkdir new
cp build/release/plugins/edges.so new

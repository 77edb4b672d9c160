for split in train val test; do python3 "$fixtures" pictures pictures/$split cat:8 dog:8; done
python3 "$fixtures" pictures night/test cat:8 dog:8
cat >pictures.toml <<'TOML'
# small
[run]
max_iter = 120
threads = 1
[data]
dataset = "image_folder"
path = "pictures"
[data.train]
split = "train"
[data.val]
split = "val"
[sampler]
size = 32
[loader]
batch = 4
[net]
name = "mlp"
[optim]
name = "sgd"
lr = 0.01
[val]
every = 60
[snapshot]
every = 60
[lr]
stepsize = 1000
[display]
report = false
TOML
printf 'base = ["pictures.toml"]\n[run]\nmax_iter = 2\n[net]\nname = "resnet18"\n' >resnet.toml
for run in my_run a b; do flowtrain pictures.toml --run-dir runs/$run --seed ${#run}; done

for split in train val; do python3 "$fixtures" pictures pictures/$split a:4 b:4 c:4 d:4 e:4; done
python3 "$fixtures" idx mnist 40 28 28
cat >mnist.toml <<'TOML'
base = ["configs/quickstart.toml"]
[data]
dataset = "webdataset"
path = "packed"
[data.train]
split = "train"
[data.val]
split = "val"
TOML
flowtrain pack configs/fashion_mnist.toml --set data.path=mnist --out packed

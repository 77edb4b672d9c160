python3 "$fixtures" idx data/fashion-mnist 40 28 28
python3 "$fixtures" idx text 64 1 64
printf 'base = ["configs/gan_shapes.toml"]\n[net]\npackage = "gan.pt2"\n' >gan.toml

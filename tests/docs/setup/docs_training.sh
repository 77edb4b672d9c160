printf '# small\nbase = ["tests/docs/small_mlp.toml"]\n[run]\nmax_iter = 100\n' >CONFIG
printf 'base = ["configs/quickstart.toml"]\n[net]\nname = "resnet18"\n[optim]\nlr = 0.01\n' >resnet.toml

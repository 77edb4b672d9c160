printf '# small\nbase = ["tests/docs/small.toml"]\n[run]\nmax_iter = 100\n[net]\nname = "mlp"\n[display]\nreport = false\ntensorboard = false\n' >CONFIG
printf 'base = ["configs/quickstart.toml"]\n[net]\nname = "resnet18"\n[optim]\nlr = 0.01\n' >resnet.toml

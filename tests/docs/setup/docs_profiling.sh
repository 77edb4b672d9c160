printf '# small\nbase = ["configs/quickstart.toml"]\n[run]\nmax_iter = 60\nthreads = 1\n[loader]\nbatch = 4\n' >CONFIG

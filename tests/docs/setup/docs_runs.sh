printf '# small\nbase = ["tests/docs/small_mlp.toml"]\n[run]\nmax_iter = 504\n' >small.toml
cp small.toml CONFIG
flowtrain CONFIG --run-dir runs/NAME
for run in quickstart a b; do flowtrain configs/quickstart.toml --run-dir runs/$run; done

printf '# small\nbase = ["tests/docs/small.toml"]\n[run]\nmax_iter = 500\n' >small.toml
flowtrain small.toml --run-dir runs/NAME
for run in a b c; do cp -r runs/NAME runs/$run; done
mkdir -p ~/venv/bin
cp "$(command -v python3)" ~/venv/bin/python

cat >plugins.toml <<'TOML'
base = ["configs/quickstart.toml"]
[run]
plugins = ["build/release/plugins/gradient_noise.so"]
TOML
cp plugins.toml CONFIG

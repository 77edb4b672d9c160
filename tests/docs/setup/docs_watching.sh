flowtrain configs/quickstart.toml

flowtrain configs/quickstart.toml --set display.tensorboard=true

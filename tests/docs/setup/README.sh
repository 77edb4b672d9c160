python3 "$fixtures" pictures pictures cat:30 dog:20
flowtrain configs/quickstart.toml # the run that `--resume auto` goes on with

flowtrain configs/quickstart.toml --run-dir RUN
flowtrain RUN --accept-changes --max-iter 6

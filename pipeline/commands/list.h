// The subcommands: function, name, usage, help. Included where FLOWTRAIN_COMMAND says what to do with a line.

FLOWTRAIN_COMMAND(train, "train", "[train] CONFIG", "train a net; `train` itself may be left out")
FLOWTRAIN_COMMAND(test, "test", "test CONFIG [OTHER]", "measure snapshots, sample by sample; compare two")
FLOWTRAIN_COMMAND(predict, "predict", "predict RUN INPUT...", "classes or boxes of pictures, by a snapshot's net")
FLOWTRAIN_COMMAND(bench, "bench", "bench CONFIG", "throughput of each data stage, or of several processes' exchange")
FLOWTRAIN_COMMAND(replay, "replay", "replay CONFIG --iter N", "write the batch that iteration N sees to files")
FLOWTRAIN_COMMAND(pack, "pack", "pack CONFIG --out FOLDER", "write a data set as tar shards")
FLOWTRAIN_COMMAND(plan, "plan", "plan CONFIG", "what a run will do: steps, memory, snapshots, learning rate")
FLOWTRAIN_COMMAND(graph, "graph", "graph CONFIG", "the flow graph in DOT, with its queue depths")
FLOWTRAIN_COMMAND(lr_find, "lr-find", "lr-find CONFIG", "learning-rate range test")
FLOWTRAIN_COMMAND(hooks, "hooks", "hooks CONFIG", "list of hooks and when they run")
FLOWTRAIN_COMMAND(config, "config", "config CONFIG", "the resolved configuration; --keys lists every key")
FLOWTRAIN_COMMAND(snapshot, "snapshot", "snapshot ls|show|verify|now",
                  "look into snapshots; also diff, convert, average")
FLOWTRAIN_COMMAND(export_net, "export", "export RUN --out FILE", "weights or a net for other programs")
FLOWTRAIN_COMMAND(serve, "serve", "serve FOLDER", "runs in a browser, as they train")
FLOWTRAIN_COMMAND(watch, "watch", "watch RUN", "a run in the terminal, as it trains: charts, progress, messages")
FLOWTRAIN_COMMAND(metrics, "metrics", "metrics RUN", "what a run measured, as CSV")
FLOWTRAIN_COMMAND(report, "report", "report RUN [RUN...]", "a page with charts of a run, or of several to compare")
FLOWTRAIN_COMMAND(verify, "verify", "verify RUN_A RUN_B", "whether two runs are the same, step by step")
FLOWTRAIN_COMMAND(postmortem, "postmortem", "postmortem RUN", "what each process did last, and which one stood still")
FLOWTRAIN_COMMAND(plugins, "plugins", "plugins [FILE.so]", "what can be named in a configuration")
FLOWTRAIN_COMMAND(plugin, "plugin", "plugin new|check", "begin a plugin; check one")
FLOWTRAIN_COMMAND(info, "info", "info [CONFIG]", "versions, machine, devices; or a net, parameter by parameter")
FLOWTRAIN_COMMAND(completion, "completion", "completion SHELL",
                  "print the script that completes command lines in bash, zsh or fish")

#undef FLOWTRAIN_COMMAND

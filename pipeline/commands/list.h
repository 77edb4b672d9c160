// The subcommands: function, name, usage, group in the help, help. Included where FLOWTRAIN_COMMAND is defined.

FLOWTRAIN_COMMAND(train, "train", "[train] CONFIG", "Train", "train a net; the word `train` may be left out")
FLOWTRAIN_COMMAND(config, "config", "config CONFIG", "Train", "print the resolved configuration; --keys lists all keys")
FLOWTRAIN_COMMAND(plan, "plan", "plan CONFIG", "Train", "show steps, memory, snapshots and learning rate of a run")
FLOWTRAIN_COMMAND(lr_find, "lr-find", "lr-find CONFIG", "Train", "find a learning rate by a range test")
FLOWTRAIN_COMMAND(test, "test", "test CONFIG [OTHER]", "Train", "measure snapshots sample by sample, or compare two")
FLOWTRAIN_COMMAND(predict, "predict", "predict RUN INPUT...", "Train", "classify or transcribe inputs, or find objects")
FLOWTRAIN_COMMAND(generate, "generate", "generate RUN", "Train", "continue texts with a language model")
FLOWTRAIN_COMMAND(export_net, "export", "export RUN --out FILE", "Train", "write weights or a net for other programs")
FLOWTRAIN_COMMAND(snapshot, "snapshot", "snapshot ls|show|verify|now", "Train",
                  "inspect snapshots; also diff, convert, average")

FLOWTRAIN_COMMAND(watch, "watch", "watch RUN", "Look at runs", "show a run in the terminal: charts, progress, messages")
FLOWTRAIN_COMMAND(serve, "serve", "serve FOLDER", "Look at runs", "show runs in a browser while they train")
FLOWTRAIN_COMMAND(report, "report", "report RUN [RUN...]", "Look at runs",
                  "write a page with charts of one run or several")
FLOWTRAIN_COMMAND(metrics, "metrics", "metrics RUN", "Look at runs", "print the metrics of a run as CSV")
FLOWTRAIN_COMMAND(verify, "verify", "verify RUN_A RUN_B", "Look at runs", "compare two runs step by step, bit for bit")
FLOWTRAIN_COMMAND(replay, "replay", "replay CONFIG --iter N", "Look at runs", "write the batch of iteration N to files")
FLOWTRAIN_COMMAND(postmortem, "postmortem", "postmortem RUN", "Look at runs",
                  "show what each process did last, and which one stopped first")

FLOWTRAIN_COMMAND(bench, "bench", "bench CONFIG", "Data and speed",
                  "measure each data stage, or all-reduce of processes")
FLOWTRAIN_COMMAND(pack, "pack", "pack CONFIG --out FOLDER", "Data and speed", "write a data set as tar shards")
FLOWTRAIN_COMMAND(tokenizer, "tokenizer", "tokenizer train|encode|show", "Data and speed",
                  "learn a tokenizer from files, or see what one makes of a text; also decode")
FLOWTRAIN_COMMAND(graph, "graph", "graph CONFIG", "Data and speed", "print the flow graph in DOT, with queue depths")

FLOWTRAIN_COMMAND(info, "info", "info [CONFIG]", "Make your own", "print versions and devices, or the layers of a net")
FLOWTRAIN_COMMAND(hooks, "hooks", "hooks CONFIG", "Make your own", "list hooks and when they run")
FLOWTRAIN_COMMAND(plugins, "plugins", "plugins [FILE.so]", "Make your own",
                  "list the parts that a configuration can name")
FLOWTRAIN_COMMAND(plugin, "plugin", "plugin new|check", "Make your own", "write a new plugin, or check one")
FLOWTRAIN_COMMAND(completion, "completion", "completion SHELL", "Make your own",
                  "print the script that completes command lines in bash, zsh or fish")

#undef FLOWTRAIN_COMMAND

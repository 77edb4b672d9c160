// The keys of what a run measures, writes and shows, and of its processes.

#include "pipeline/base/config/key_lines.h"
#include "pipeline/base/values/metric_keys.h"

namespace flowtrain::key_lines {

namespace {

constexpr Decides measured = validation | tests | joint;
constexpr Decides run_only = validation | joint;  // decides nothing in a test
constexpr Decides resumed = training | start;
constexpr Decides shared = training | joint;
constexpr Decides process = training | own;
const std::vector<Needs> patience{{.key = "patience"}}, prompts{{.key = "samples"}},
    beam{{.key = "name", .value = "ctc_beam"}}, model{{.key = "language_model"}};
const std::vector<std::string> state_parts{"params", "optim", "schedule", "random"};

const std::vector<KeyTable> all_result_tables = {
    table("val", measured, "validations during the training",
          {number_or(run_only, "every", {}, 0, {0, most}, "distance of two validations: " + period),
           key(run_only, "batches", 0, {0, most},
               "number of batches of a validation, each of which goes on where the last one ended, so that its metrics "
               "are those of another part of the set; 0 = the whole set"),
           key(measured, "batch", 0, {0, 1 << 24}, "number of samples of a batch; 0 = loader.batch"),
           key(measured, "source", "",
               "[[data.source]]s with rows: name of the source whose fields validation has; empty: the first one"),
           key(validation, "workers", 1, {1, 4096}, "number of threads that decode"),
           choice(measured, "amp", {"off", "bf16", "fp16"},
                  "mixed precision of the forward for loss and metrics of batches (not of boxes)"),
           key(measured, "flip", false,
               "compute loss and metrics from the mean logits of each image and its mirror image"),
           choice(run_only, "mode", {"inline", "async"},
                  "inline: training waits for a validation; async: training continues while a copy of the net is "
                  "validated, and acts on the result at the next validation"),
           choice(run_only, "on_error", {"stop", "save", "skip"},
                  "reaction to an error in a validation (a metric, a net's script) of any process: end the run (stop), "
                  "end it with a snapshot (save), or continue without that validation (skip)"),
           key(run_only, "pictures", 0, {0, 1024},
               "number of samples of each set whose images and predictions a validation writes to the run's pictures/, "
               "and again as many with the greatest loss; 0 = none"),
           key(run_only, "samples", Texts{},
               "texts that the net continues at each validation, such as \"Once upon\"; log, metrics.jsonl and "
               "TensorBoard show what it writes"),
           read_if(prompts, key(run_only, "sample_tokens", 100, {1, 1 << 20}, "greatest number of tokens of each")),
           read_if(prompts, key(run_only, "sample_temperature", 0.0, {0, 100},
                                "temperature of their draws; 0: always the most likely token")),
           key(measured, "metrics", Texts{"accuracy"},
               "metrics beside the loss (`flowtrain plugins` lists them; detection nets have ap, ap50 and more); the "
               "first decides which snapshot is best"),
           key(measured, "group_by", "",
               "compute each metric also for the samples of each class (\"label\"), or of each value of another whole "
               "number of the batch, as <metric>.<group>")}),
    list("metric", measured, "a metric with keys of its own",
         {required(key(measured, "name", "", "name of the metric")),
          key(measured, "label", "", "name in val.metrics and in lines; empty: the metric's name")}),
    list("val.set", run_only, "one more set of each validation; other keys are those of [data.val]",
         {required(key(run_only, "name", "", "name of the set; its metrics are <name>.loss, <name>.accuracy …")),
          key(run_only, "dataset", "", "name of the data set's kind; empty: that of [data.val]"),
          path(key(run_only, "path", "", "file or folder of the data set")),
          key(run_only, "split", "", "part of the data set")}),
    table("test", nothing, "`flowtrain test`",
          {choice(nothing, "on_error", {"stop", "skip"},
                  "reaction to a snapshot, set or setting that fails: end the test (stop), or continue with the next "
                  "one and end with the exit code of the error (skip)")}),
    list("test.worst", tests,
         "a list of the worst samples of each set; without any there is one list with the defaults of these keys",
         {choice(tests, "metric", {"auto", "loss", "score", "errors", "false_negatives", "false_positives"},
                 "measure of a sample: its loss, the score of its prediction, for a net that writes texts the edits of "
                 "words (errors), or for a detector the number of objects that it missed, of its wrong boxes, or of "
                 "both (errors); auto: errors where there are some, else loss"),
          choice(tests, "mode", {"max", "min"}, "list the samples with the greatest measure, or with the least"),
          key(tests, "n", 16, {0, 1024}, "number of samples in the list; 0 = none")}),
    list("test.set", nothing,
         "one more set of `flowtrain test`; other keys are those of [data.test], or else of [data.val]",
         {required(key(nothing, "name", "", "name of the set in results")),
          key(nothing, "dataset", "", "name of the data set's kind; empty: that of [data.test]"),
          path(key(nothing, "path", "", "file or folder of the data set")),
          key(nothing, "split", "", "part of the data set")}),
    list("test.setting", nothing,
         "changes of the configuration under which `flowtrain test` measures the sets; several are measured in turn",
         {required(key(nothing, "name", "", "name of the setting in results")),
          key(nothing, "set", Texts{}, "changes as --set takes them: \"sampler.size=96\"")}),
    list("test.sweep", nothing,
         "settings made of lists of values; several [[test.sweep]]s give each combination of their values",
         {required(key(nothing, "set", Texts{},
                       "values divided by |, \"sampler.size=64|96\"; keys of one table change together, and a single "
                       "value stays"))}),
    table("early_stop", joint, "the end of a run before its last iteration",
          {key(joint, "patience", 0, {0, 1 << 24}, "number of validations in a row without an improvement; 0 = never"),
           read_if(patience, core(joint, metric_key())), read_if(patience, core(joint, mode_key())),
           read_if(patience, core(joint, min_delta_key())), read_if(patience, core(joint, relative_key())),
           key(joint, "hours", 0.0, {0, 1e6}, "hours of training, over all starts of the run; 0 = no limit")}),
    list("best", joint,
         "a rule for the best snapshots in place of keep_best; the first links snapshots/best, others "
         "snapshots/best-<metric>",
         {core(joint, metric_key(/*must=*/true)), core(joint, mode_key()),
          key(joint, "keep", 1, {1, 1 << 20}, "number of snapshots to keep; at least 1")}),
    table("detect", validation | tests,
          "the detector, which makes boxes of a net's outputs for `test`, `predict`, val.metrics and val.pictures",
          {key(validation | tests, "name", "", "name of the detector; empty: the net's own")}),
    table("decode", validation | tests,
          "the decoder, which makes a text of the outputs of a net with a CTC loss for `test`, `predict`, val.metrics "
          "(wer, cer) and val.pictures",
          {choice(validation | tests, "name", {"", "ctc_greedy", "ctc_beam"},
                  "ctc_greedy: the best class of each frame; ctc_beam: prefix beam search; empty: none"),
           read_if(beam, key(validation | tests, "beam", 32, {1, 4096},
                             "number of texts that are followed; each takes some 200 bytes in each frame")),
           read_if(beam, key(validation | tests, "prune", 0.001, {0, 1},
                             "classes with a smaller probability in a frame are not followed, except the best one")),
           read_if(beam, path(key(validation | tests, "language_model", "",
                                  "file of an n-gram model of words, or of the label's tokens, in the ARPA format; "
                                  "empty: none"))),
           read_if(model, choice(validation | tests, "units", {"auto", "tokens", "words"},
                                 "words of the model: tokens of the label, or words between blanks; auto: tokens if "
                                 "all of the model's words are tokens, and most tokens or one of a blank among them")),
           read_if(model, key(validation | tests, "weight", 0.5, {0, 100},
                              "factor of the logarithm of the language model's probability")),
           read_if(model, key(validation | tests, "word_bonus", 1.0, {-100, 100},
                              "added to the logarithm of a text's probability for each word of the model"))}),
    table("snapshot", joint, "snapshots, which hold the run's state on disk",
          {number_or(joint, "every", {}, "1 epoch", {0, most},
                     "distance of two snapshots: " + period + "; also a time, \"30 min\" (s, min, h)"),
           key(joint, "keep_last", 3, {1, 1 << 20}, "number of newest snapshots to keep; at least 1"),
           key(joint, "keep_best", 1, {0, 1 << 20},
               "number of best snapshots to keep beside them, by the first of val.metrics; [[best]] replaces it"),
           key(joint, "end_with_best", false,
               "end the run with the weights of the best snapshot; the last snapshot keeps the last weights"),
           number_or(joint, "keep_every", {}, 0, {0, most},
                     "distance of two snapshots that are kept for good: " + period),
           choice(joint, "when_busy", {"wait", "skip"},
                  "reaction to a snapshot that is due while the one before is still being written: training waits "
                  "(wait), or the snapshot is left out (skip; never with train.nonfinite = \"rollback\")"),
           choice(joint, "on_error", {"go_on", "stop"},
                  "reaction to a snapshot that cannot be written: the run continues (go_on), or ends (stop)"),
           core(joint, {"save", Kind::texts, state_parts,
                        "parts of the state that a snapshot holds, always with the average of [ema]; a resume from a "
                        "snapshot without all four needs --accept-changes, and begins the other parts anew",
                        0, 0, state_parts}),
           key(joint, "final", true, "make a snapshot when training ends, too")}),
    table("verify", joint,
          "verify.jsonl, a journal of hashes with which `flowtrain verify` compares two runs step by step",
          {number_or(joint, "every", {}, 0, {0, most},
                     "distance of two hashes of samples, loss, gradient norm, weights and optimizer: " + period)}),
    table(
        "resume", resumed, "the resume of an earlier run",
        {choice(resumed, "world", {"same", "any"},
                "any: another number of ranks may change the batch by batch_per_rank, and the run continues"),
         key(resumed, "optim", true, "continue the state of optimizers and the average of [ema]; false: begin anew"),
         key(resumed, "scaler", true,
             "continue the loss scale; false: begin anew, which a change of train.amp to or from fp16 needs"),
         key(resumed, "schedule", true,
             "continue with the learning rates that plateau schedules and rollbacks have set; false: forget them"),
         key(resumed, "hooks", true, "continue the state of hooks; false: begin anew"),
         key(resumed, "strict", true,
             "refuse tensors that only the snapshot or the run has; false: log them, and begin those of the run anew"),
         key(resumed, "rename", Texts{},
             "changes of names of the snapshot's parameters, buffers and optimizer state: \"PATTERN -> TEXT\"")}),
    table("dist", shared, "several processes that train together",
          {choice(process, "backend", {"auto", "gloo", "nccl"},
                  "library that connects the processes; auto: nccl between GPUs, gloo between CPUs"),
           key(process, "url", "",
               "meeting point of nodes that are started with --rank: tcp://HOST:PORT or file:///PATH; --dist-url"),
           key(process, "max_restarts", 0, {0, 1e6},
               "number of times that all processes start again if one dies; --max-restarts"),
           key(process, "timeout", 300.0, {1, 1e6}, "seconds before a process that does not answer is given up"),
           key(shared, "bucket_mb", 25.0, {0.001, 1e6}, "MiB of gradients that are exchanged together"),
           key(shared, "first_bucket_mb", 1.0, {0.001, 1e6}, "MiB of the first such bucket; a small one leaves early"),
           choice(shared, "compress", {"none", "fp16", "bf16"}, "type in which gradients are exchanged"),
           key(training, "same_draws", false,
               "give the net the same random numbers (dropout) in all processes, rather than each process its own"),
           key(shared, "sync_batch_norm", false, "compute the statistics of batch normalisation over all processes"),
           key(shared, "find_unused", false, "allow parameters that take no part in an iteration's loss")}),
    table(
        "display", nothing, "the display of the training",
        {number_or(joint, "every", {}, 20, {0, most}, "distance of two lines: " + period),
         choice(nothing, "progress", {"auto", "bar", "plain", "off"},
                "form of the display; auto: a bar on a terminal, else plain lines"),
         key(nothing, "report", true,
             "write report.html into the run's folder: charts, images, the graph, how to repeat the run"),
         key(nothing, "tensorboard", true, "write event files for TensorBoard into the run's folder tensorboard/"),
         read_if({{.key = "tensorboard"}},
                 number_or(
                     nothing, "histograms", {}, 0,
                     {0, most},
                     "distance of two histograms of weights and gradients for TensorBoard, for which training waits: " +
                         period)),
         key(nothing, "prometheus", "",
             "PORT or HOST:PORT at which Prometheus reads the metrics of the training; without HOST only from this "
             "machine (127.0.0.1); empty = nowhere")})};

}  // namespace

const std::vector<KeyTable>& result_tables() { return all_result_tables; }

}  // namespace flowtrain::key_lines

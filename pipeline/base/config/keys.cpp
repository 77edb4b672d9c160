#include "pipeline/base/config/keys.h"

#include "pipeline/base/values/metric_keys.h"

#include <algorithm>
#include <limits>
#include <set>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::int64_t zero = 0, one = 1;
constexpr double most = 9e15;     // integers up to here are exact as doubles
constexpr double finite = 1e300;  // keeps infinity out
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string period = "iterations, \"2 epochs\", \"10 per epoch\", or 0 = never";
const std::vector<std::string> state_parts{"params", "optim", "schedule", "random"};
std::string text(const char* value) { return value; }

Key one_of(std::vector<std::string> choices, const char* name, const char* fallback, const char* help) {
  return {.name = name, .kind = Kind::text, .fallback = text(fallback), .help = help, .choices = std::move(choices)};
}

/// A key that names a file or folder, or several.
Key path(Key key) {
  key.is_path = true;
  return key;
}

/// A key that takes a number or the one word.
Key count_or(const char* word, Key key) {
  key.choices = {word};
  return key;
}

const std::vector<KeyTable> tables = {
    {"", "", {{"name", Kind::text, text(""), "the run's name; empty: the file's name without its ending"}}},
    {"run",
     "how long, on what, and where",
     {{"max_iter", Kind::integer, zero, "iterations to train; 0 = not set", 0, most},
      {"max_epochs", Kind::integer, zero, "epochs to train, instead of max_iter; 0 = not set", 0, most},
      count_or("random", {"seed", Kind::integer_or_text, one, "of everything drawn; \"random\" draws a seed", 0, most}),
      {"device", Kind::text, text("auto"), "where the net runs: auto, cpu, cuda, or cuda:N"},
      count_or("auto", {"threads", Kind::integer_or_text, zero,
                        "threads that compute uses on the CPU; 0 or auto: one per core that its affinity and CPU quota "
                        "leave",
                        0, 4096}),
      {"deterministic", Kind::boolean, true, "only kernels whose results are the same in every run"},
      one_of({"auto", "plain", "off"}, "cudnn", "auto",
             "cuDNN on a GPU: the fastest of its kernels are found by trying them, where deterministic is false "
             "(auto); it takes those that "
             "it thinks best (plain); or other kernels are used (off)"),
      path({"dir", Kind::text, text("runs"), "folder that holds the runs' folders"}),
      {"grace_seconds", Kind::real, 30.0, "seconds from SIGTERM, SIGHUP or SIGUSR1 to the end, even without a snapshot",
       0.1, 1e6},
      path({"plugins", Kind::texts, std::vector<std::string>{},
            "plugins (.so): they add data sets, samplers, nets, losses and other parts, which the other tables then "
            "name"}),
      path({"resume", Kind::text, text("none"),
            "none, auto (the newest run of this name), or a run's or snapshot's folder"})}},
    {"data",
     "the data set, for training and validation; its own keys stand here too",
     {{"dataset", Kind::text, text(""), "name of the data set's kind", 0, 0, {}, true},
      path({"path", Kind::text, text(""), "file or folder of the data set"}),
      {"split", Kind::text, text(""), "part of the data set; empty: the usual one for training or validation"},
      one_of({"skip", "stop"}, "bad", "skip", "a damaged sample is replaced (skip) or ends the run (stop)"),
      {"max_bad", Kind::integer_or_text, text("auto"),
       "damaged samples after which the run stops: a number, a share of the data set (\"1%\", then at least 1), or "
       "auto: 0.1 %, and at least 10",
       0, most},
      {"val_share", Kind::real, -1.0,
       "share of the training samples of each class that is held out for validation, chosen by hashes of their names; "
       "-1 (the default) = 0.1 where the data has no validation split and the run validates, else 0",
       -1, 0.9},
      {.name = "epoch",
       .kind = Kind::integer_or_text,
       .fallback = text("longest"),
       .help = "with several sources, an epoch ends: when all are through (longest), when one is (shortest), or after "
               "so many batches",
       .min = 1,
       .max = most,
       .choices = {"longest", "shortest"}},
      one_of({"mixed", "one_source"}, "batches", "mixed",
             "with several sources, a batch holds rows of all of them (mixed), or of one at a time (one_source)")}},
    {"data.train", "keys of [data] that differ for training", {}},
    {"data.val", "keys of [data] that differ for validation", {}},
    {"data.test",
     "keys of [data] that differ for `flowtrain test`; without it and [[test.set]] it uses the validation data",
     {}},
    {"data.source",
     "one of several data sets that are trained on together; its data set's own keys stand here too, and its order's",
     {{"name", Kind::text, text(""), "what messages call it; empty: its data set's kind"},
      {"dataset", Kind::text, text(""), "name of the data set's kind", 0, 0, {}, true},
      path({"path", Kind::text, text(""), "file or folder of the data set"}),
      {"split", Kind::text, text(""), "part of the data set; empty: the usual one for training"},
      {"ratio", Kind::real, 0.0, "its part of all samples, in relation to the others' ratios; 0 = as many as it has", 0,
       1e9},
      {"order", Kind::text, text(""), "the order of its samples; empty: that of [order]"}},
     Repeats::yes},
    {"sampler",
     "from a stored sample to a row of the batch; the sampler's own keys stand here too",
     {{"name", Kind::text, text("classify"), "name of the sampler"},
      {"process", Kind::boolean, false,
       "run the sampler in processes of its own, one for each worker: a crash costs the sample that it was at"},
      {"process_timeout", Kind::real, 60.0,
       "process = true: seconds for a sample, or a block of them, after which its process is ended", 0.01, 1e6}}},
    {"batch_augment",
     "training batches: their pictures mixed with one another, as `classify` gives them; done where the net computes",
     {{"mixup", Kind::real, 0.0, "two pictures blended: alpha of the Beta distribution of their weights; 0 = off", 0,
       1e6},
      {"cutmix", Kind::real, 0.0,
       "a box cut out of another picture: alpha of the Beta distribution of its share; 0 = off", 0, 1e6},
      {"prob", Kind::real, 1.0, "probability that a batch is mixed", 0, 1},
      {"switch_prob", Kind::real, 0.5, "probability of cutmix where both are on", 0, 1}}},
    {"batch_augment.color",
     "colour jitter of RGB training pictures, done where the net computes; before anything else there",
     {{"brightness", Kind::real, 0.0, "levels times 1 ± up to this", 0, 10},
      {"contrast", Kind::real, 0.0, "distance from the picture's mean grey times 1 ± up to this", 0, 10},
      {"saturation", Kind::real, 0.0, "distance from each pixel's grey times 1 ± up to this", 0, 10},
      {"hue", Kind::real, 0.0, "colours turned by ± up to this part of a full turn", 0, 0.5},
      {"prob", Kind::real, 1.0, "probability that a picture's colours change", 0, 1}}},
    {"batch_augment.erase",
     "random erasing: boxes of training pictures lose what they showed, before the pictures are mixed",
     {{"prob", Kind::real, 0.0, "probability that a picture loses a box", 0, 1},
      {"scale", Kind::reals, std::vector<double>{0.02, 0.33}, "least and most share of the area", 1e-6, 1},
      {"ratio", Kind::reals, std::vector<double>{0.3, 3.3}, "least and most height / width", 1e-3, 1e3},
      one_of({"mean", "random"}, "value", "mean",
             "what the box becomes: sampler.mean, or a random level at each value")}},
    {"order",
     "the order in which samples are seen; the order's own keys stand here too",
     {{"name", Kind::text, text("shuffle"), "name of the order"}}},
    {"loader",
     "how batches are loaded",
     {count_or(
          "auto",
          {"batch", Kind::integer_or_text, std::int64_t{64},
           "samples of a batch, over all ranks; auto: as many as fit into memory, which is found by training steps "
           "when a run starts",
           1, 1 << 24}),
      {"batch_max", Kind::integer, zero,
       "the most that batch = \"auto\" may come to; 0 = as many as the training data has", 0, 1 << 24},
      {"batch_memory_mb", Kind::integer, zero,
       "batch = \"auto\": megabytes (MiB) for a step and the batches ahead, of each process; 0 = 80 % of what is free",
       0, 1 << 24},
      {"batch_per_rank", Kind::integer, zero,
       "samples of a batch on each rank, instead of batch, which grows with their number; 0 = not set", 0, 1 << 24},
      count_or("auto",
               {"workers", Kind::integer_or_text, text("auto"),
                "threads that decode and augment; auto: one per core at first, then, like readers and prefetch unless "
                "given, what the first 20 s of training are fastest with",
                1, 4096}),
      {"prefetch", Kind::integer, std::int64_t{4}, "batches ready or under way ahead of the net", 1, 4096},
      {"readers", Kind::integer, std::int64_t{2}, "threads that read files", 1, 1024},
      {"read_ahead", Kind::integer, std::int64_t{512},
       "remote shards: samples beyond prefetch whose bytes are asked for together with those near them", 0, 1 << 20},
      {"cache_mb", Kind::integer, zero,
       "megabytes (MiB) of memory for decoded training pictures, which are then decoded whole; worth it where most of "
       "them fit, at 3 bytes a pixel; of each process; 0 = none are kept",
       0, 1 << 24},
      one_of({"wrap", "drop", "pad"}, "last_batch", "wrap",
             "an epoch's last, incomplete batch: filled up from the epoch's start, left out, or padded without weight"),
      {"pin", Kind::boolean, true, "page-locked batches where the device copies from them (CUDA)"}}},
    {"net",
     "the model; the net's own keys stand here too",
     {{"name", Kind::text, text(""), "name of the net; needed for training"},
      path({"pretrain", Kind::text, text(""),
            "weights to start from: safetensors, or a .pth of torch.save(model.state_dict()); a path, or an http(s):// "
            "or "
            "s3:// address, whose "
            "file is kept"}),
      {"sha256", Kind::text, text(""),
       "of pretrain's file, in 64 hexadecimal digits: it is checked; must be given with an address"},
      {"strict", Kind::boolean, false, "pretrain must hold exactly the net's tensors"},
      {"pretrain_key", Kind::text, text(""),
       "pretrain: the keys that lead to the tensors in a .pth with several dicts of them (\"state_dict_ema\", "
       "\"ema.module\"); \"\": the dict that fits the net best"},
      {"pretrain_drop", Kind::texts, std::vector<std::string>{},
       "pretrain: tensors left out, by regular expressions of their names (heads for other classes, say)"},
      {"pretrain_rename", Kind::texts, std::vector<std::string>{},
       "pretrain: \"PATTERN -> TEXT\" for names, or \"cornernet\": those of the first CornerNet"},
      {"channels_last", Kind::boolean, true, "lays pictures and weights out with the channels innermost"}}},
    {"net.init",
     "first values of some parameters, in place of the net's own; of several that match one, the last; pretrain comes "
     "after",
     {{"params", Kind::text, text(""), "regular expression of their names: \"^fc\\\\.weight$\"", 0, 0, {}, true},
      {.name = "rule",
       .kind = Kind::text,
       .fallback = text("normal"),
       .help = "how they are drawn, as torch.nn.init's functions of these names do",
       .choices = {"constant", "normal", "trunc_normal", "uniform", "xavier_normal", "xavier_uniform", "kaiming_normal",
                   "kaiming_uniform", "orthogonal"},
       .required = true},
      {"value", Kind::real, 0.0, "constant", -finite, finite},
      {"mean", Kind::real, 0.0, "normal, trunc_normal", -finite, finite},
      {"std", Kind::real, 0.02, "normal, trunc_normal: standard deviation", 1e-30, finite},
      {"range", Kind::reals, std::vector<double>{},
       "uniform: least and greatest value; trunc_normal: likewise, empty = mean ± 2 std", -finite, finite},
      {"gain", Kind::real, 1.0, "xavier_…, orthogonal: what the usual values are multiplied by", 0, finite},
      one_of({"fan_in", "fan_out"}, "mode", "fan_in",
             "kaiming_…: what keeps its size, activations (fan_in) or gradients (fan_out)"),
      one_of({"relu", "leaky_relu", "tanh", "sigmoid", "linear"}, "nonlinearity", "relu",
             "kaiming_…: what comes after the layer"),
      {"negative_slope", Kind::real, 0.01, "kaiming_… with leaky_relu: its slope below 0", 0, finite}},
     Repeats::yes},
    {"loss",
     "what is minimised; the loss's own keys stand here too",
     {{"name", Kind::text, text("cross_entropy"), "name of the loss"}}},
    {"optim",
     "the optimizer, or several, [[optim]], each with params of its own; the optimizer's own keys stand here too",
     {{"name", Kind::text, text("sgd"), "name of the optimizer"},
      {"label", Kind::text, text(""), "what schedules and metrics call it; empty: its name"},
      {"params", Kind::text, text(""), "regular expression: parameters that it learns, by their names; empty: all"},
      {"lr", Kind::real, 0.1, "base learning rate", 0, finite},
      {"lr_base_batch", Kind::integer, zero,
       "lr is for updates from so many samples, and grows with loader.batch * train.accum * accum; 0 = it does not", 0,
       1 << 24},
      {"weight_decay", Kind::real, 0.0,
       "pull of the weights towards 0; as the optimizer has it, decoupled or added to the gradient", 0, finite},
      {"losses", Kind::texts, std::vector<std::string>{},
       "of the training step, those that it lowers; empty: the first one"},
      {"every", Kind::integer, one, "it is at work in iterations that this divides", 1, most},
      {"accum", Kind::integer, one,
       "its updates: one for so many iterations that it is at work in, with the mean of their gradients", 1, most},
      {"clip", Kind::real, -1.0,
       "limit for its own gradients alone, as train.clip; -1 = train.clip, together with the others'", -1, finite}},
     Repeats::maybe},
    {"group",
     "parameters that are treated otherwise than [optim] says; of several groups, the first that matches",
     {{"params", Kind::text, text(""), "regular expression of their names: \"bias$\", \"^conv1\\\\.\"", 0, 0, {}, true},
      {"lr_mult", Kind::real, 1.0, "what the learning rate is multiplied by", 0, 1e6},
      {"weight_decay", Kind::real, -1.0, "instead of optim.weight_decay; -1 = the same", -1, finite},
      {"frozen", Kind::boolean, false, "never change; nor do the running statistics of their layers"}},
     Repeats::yes},
    {"schedule",
     "how a hyper-parameter of an optimizer moves; several act one after the other, or multiply where they overlap; "
     "instead of "
     "[lr]",
     {{"name", Kind::text, text(""), "the kind", 0, 0, {}, true},
      {"optim", Kind::text, text(""), "the optimizer's label; empty: all"},
      one_of({"lr", "momentum", "weight_decay"}, "target", "lr", "what moves; of adam, momentum is the first of betas"),
      {"begin", Kind::integer, zero, "iterations, or epochs, before it begins", 0, most},
      {"end", Kind::integer, zero, "iterations, or epochs, after which the value stays; 0 = with the run", 0, most},
      one_of({"iter", "epoch"}, "by", "iter", "what begin, end and the kind's own lengths count"),
      {"smooth", Kind::boolean, false, "changes within epochs, too, where by = \"epoch\""}},
     Repeats::yes},
    {"lr",
     "the learning rate's way: optim.lr / decay_rate^((i - 1) // stepsize) at iteration i; [[schedule]] can more",
     {{"stepsize", Kind::integer_or_text, zero, "from decay to decay: " + period, 0, most},
      {"decay_rate", Kind::real, 10.0, "what each decay divides by", 1e-6, 1e6}}},
    {"lr.warmup",
     "linear warm-up; the schedule goes on underneath",
     {{"length", Kind::integer, zero, "of the warm-up; 0 = none", 0, most},
      one_of({"iter", "epoch"}, "by", "iter", "what length counts"),
      one_of({"fix", "factor", "auto"}, "mode", "auto",
             "start from init_lr (fix), from factor * the rate (factor), or from the rate / iterations (auto)"),
      {"init_lr", Kind::real, 0.0, "fix: learning rate of the first iteration", 0, finite},
      {"factor", Kind::real, 0.1, "factor: share of the learning rate in the first iteration", 0, 1}}},
    {"train",
     "the step",
     {{"accum", Kind::integer, one, "batches whose gradients make one step", 1, 1 << 20},
      {"clip", Kind::real, 0.0, "what gradients are clipped to; 0 = off", 0, finite},
      one_of(
          {"norm", "value", "adaptive"}, "clip_by", "norm",
          "clip: the norm of all gradients together, each element, or each unit's gradient as a share of its weights"),
      {"clip_p", Kind::real, 2.0, "clip_by = \"norm\": which norm; inf = the greatest magnitude", 1e-3, infinity},
      {"cuda_graph", Kind::boolean, false,
       "the GPU keeps the whole step as a CUDA graph and repeats it, without being told each kernel; a line says why "
       "where that cannot be"},
      one_of({"off", "bf16", "fp16"}, "amp", "off",
             "forward in mixed precision; fp16 scales the loss, so that small gradients survive"),
      one_of(
          {"stop", "skip", "rollback"}, "nonfinite", "stop",
          "a loss or gradient that is not finite: ends the run, leaves that update out, or also goes back to the last "
          "snapshot's weights (of those that were due, or a validation's) with a lower learning rate"),
      {"max_nonfinite", Kind::integer, std::int64_t{10},
       "updates left out in a row (skip), or rollbacks in all, after which the run stops", 1, most},
      {"rollback_lr", Kind::real, 0.5, "rollback: what the learning rate is multiplied by, each time", 0, 1},
      one_of({"stop", "save", "skip"}, "on_error", "stop",
             "an error in a batch's forward or backward (the device's memory, a step of one's own): ends the run, does "
             "so with a "
             "snapshot, or leaves that update out"),
      {"max_skipped", Kind::integer, std::int64_t{10},
       "on_error = \"skip\": updates left out in a row after which the run ends", 1, most}}},
    {"step",
     "what is computed for a batch; the step's own keys stand here too",
     {{"name", Kind::text, text("supervised"), "name of the training step"}}},
    {"hook",
     "what is called at points of the run; the hook's own keys stand here too",
     {{"name", Kind::text, text(""), "name of the hook", 0, 0, {}, true},
      {"label", Kind::text, text(""), "what messages and snapshots call it; empty: its name"},
      {"priority", Kind::integer, std::int64_t{50}, "lower ones are called first", -1'000'000, 1'000'000},
      one_of({"all", "first"}, "ranks", "all", "called in all processes, or in the first only")},
     Repeats::yes},
    {"ema",
     "an exponential moving average of the weights",
     {{"decay", Kind::real, 0.0, "average = decay * average + (1 - decay) * weights, every iteration; 0 = none", 0,
       0.9999999},
      {"warmup", Kind::boolean, true, "decay is at most (1 + i) / (10 + i) at iteration i"},
      {"validate", Kind::boolean, true, "validation and `flowtrain test` use the average"}}},
    {"val",
     "validation while training",
     {{"every", Kind::integer_or_text, zero, period, 0, most},
      {"batches", Kind::integer, zero, "batches of one validation; 0 = the whole set", 0, most},
      {"batch", Kind::integer, zero, "samples of a batch; 0 = loader.batch", 0, 1 << 24},
      {"workers", Kind::integer, one, "threads that decode", 1, 4096},
      one_of({"off", "bf16", "fp16"}, "amp", "off",
             "loss and metrics of batches (not of boxes) from a forward in mixed precision"),
      {"flip", Kind::boolean, false,
       "loss and metrics from the means of the logits of each picture and of its mirror image"},
      one_of(
          {"inline", "async"}, "mode", "inline",
          "inline: training waits for it; async: it is overlapped with training, which goes on while a copy of the net "
          "is validated, and what follows from that follows at the next one"),
      one_of(
          {"stop", "save", "skip"}, "on_error", "stop",
          "an error in a validation (a metric, a net's script), in any of the processes: ends the run, does so with a "
          "snapshot, or the run goes on without that validation"),
      {"pictures", Kind::integer, zero,
       "samples of each set whose pictures and predictions a validation writes to the run's pictures/, the same each "
       "time, and as many with the greatest loss; 0 = none",
       0, 1024},
      {"metrics", Kind::texts, std::vector<std::string>{"accuracy"},
       "metrics beside the loss (`flowtrain plugins` lists them), of detection nets ap, ap50 and so on; the first "
       "decides which "
       "snapshot is best"},
      {"group_by", Kind::text, text(""),
       "each metric also for the samples of each class (\"label\"), or of each value of another whole number of the "
       "batch: "
       "<metric>.<group>"}}},
    {"metric",
     "a metric with keys of its own, which stand here too",
     {{"name", Kind::text, text(""), "name of the metric", 0, 0, {}, true},
      {"label", Kind::text, text(""), "what val.metrics and lines call it; empty: its name"}},
     Repeats::yes},
    {"val.set",
     "one of several sets that each validation goes through beside [data.val]'s; what it does not say is as there",
     {{"name", Kind::text, text(""), "its metrics are called <name>.loss, <name>.accuracy …", 0, 0, {}, true},
      {"dataset", Kind::text, text(""), "name of the data set's kind, with its own keys; empty: that of [data.val]"},
      path({"path", Kind::text, text(""), "file or folder of the data set"}),
      {"split", Kind::text, text(""), "part of the data set"}},
     Repeats::yes},
    {"test",
     "`flowtrain test`",
     {one_of({"stop", "skip"}, "on_error", "stop",
             "a snapshot, set or setting that fails: the test ends, or goes on with the next and ends with the error's "
             "exit code")}},
    {"test.worst",
     "a list of the worst samples of each set; without any there is one, with the defaults of these keys",
     {one_of({"auto", "loss", "score", "errors", "false_negatives", "false_positives"}, "metric", "auto",
             "by what they are the worst: the sample's loss, the score of its prediction, or of a detector the objects "
             "that it missed, its wrong boxes, or the sum of the two (errors); auto: errors of a detector, else loss"),
      one_of({"max", "min"}, "mode", "max", "whether the greatest or the least are the worst"),
      {"n", Kind::integer, std::int64_t{16}, "samples of the list; 0 = none", 0, 1024}},
     Repeats::yes},
    {"test.set",
     "another set that `flowtrain test` measures on; other keys are those of [data.test], or else of [data.val]",
     {{"name", Kind::text, text(""), "what results call it", 0, 0, {}, true},
      {"dataset", Kind::text, text(""), "name of the data set's kind, with its own keys; empty: that of [data.test]"},
      path({"path", Kind::text, text(""), "file or folder of the data set"}),
      {"split", Kind::text, text(""), "part of the data set"}},
     Repeats::yes},
    {"test.setting",
     "one of several ways to look at the sets: keys of the configuration that `flowtrain test` changes",
     {{"name", Kind::text, text(""), "what results call it", 0, 0, {}, true},
      {"set", Kind::texts, std::vector<std::string>{}, "changes as --set takes them: \"sampler.size=96\""}},
     Repeats::yes},
    {"test.sweep",
     "settings made of lists of values; each combination of the values of several [[test.sweep]]s is one",
     {{"set",
       Kind::texts,
       std::vector<std::string>{},
       "\"sampler.size=64|96\": values divided by |; several keys of one table change together, one with a single "
       "value keeps it",
       0,
       0,
       {},
       true}},
     Repeats::yes},
    {"early_stop",
     "the run ends before its last iteration, as if that were it",
     {{"patience", Kind::integer, zero, "validations in a row that do not improve the metric; 0 = never", 0, 1 << 24},
      metric_key(),
      mode_key(),
      min_delta_key(),
      relative_key(),
      {"hours", Kind::real, 0.0, "of training, over all starts of the run; 0 = no limit", 0, 1e6}}},
    {"best",
     "which snapshots are best, instead of snapshot.keep_best; snapshots/best is the first one's, "
     "snapshots/best-<metric> the others'",
     {metric_key(/*required=*/true),
      mode_key(),
      {"keep", Kind::integer, one, "snapshots that are kept; at least the best one", 1, 1 << 20}},
     Repeats::yes},
    {"detect",
     "makes boxes of a net's outputs, for `test`, `predict`, val.metrics and val.pictures",
     {{"name", Kind::text, text(""), "the detector; empty: the net's own"}}},
    {"snapshot",
     "the state on disk",
     {{"every", Kind::integer_or_text, text("1 epoch"),
       period + "; also by the clock, \"30 min\" (s, min, h) since the last one", 0, most},
      {"keep_last", Kind::integer, std::int64_t{3}, "newest snapshots that are kept; at least 1", 1, 1 << 20},
      {"keep_best", Kind::integer, one,
       "best snapshots that are kept beside them, by the first of val.metrics; [[best]] can more", 0, 1 << 20},
      {"end_with_best", Kind::boolean, false,
       "the run ends with the weights of the best snapshot; its last snapshot has the last ones"},
      {"keep_every", Kind::integer_or_text, zero,
       "snapshots of iterations that this divides are kept for good: " + period, 0, most},
      one_of({"wait", "skip"}, "when_busy", "wait",
             "the one before is still being written when the next is due: training waits, or this one is left out "
             "(never with train.nonfinite = \"rollback\")"),
      one_of({"go_on", "stop"}, "on_error", "go_on", "one that cannot be written: the run goes on, or ends"),
      {"save", Kind::texts, state_parts,
       "what is in one; the average of [ema] is always; to go on from one without all four takes --accept-changes, and "
       "the rest begins anew",
       0, 0, state_parts},
      {"final", Kind::boolean, true, "also when training ends"}}},
    {"verify",
     "a journal of hashes, verify.jsonl, by which `flowtrain verify` compares two runs step by step",
     {{"every", Kind::integer_or_text, zero,
       "how often samples, loss, gradient norm, weights and optimizer are hashed: " + period, 0, most}}},
    {"resume",
     "going on in an earlier run",
     {one_of({"same", "any"}, "world", "same",
             "any: with another number of ranks batch_per_rank makes another batch, and the run goes on with it"),
      {"optim", Kind::boolean, true, "false: optimizers, and the average of [ema], begin anew"},
      {"scaler", Kind::boolean, true,
       "false: the loss's scale (train.amp = \"fp16\") begins anew; needed where amp has changed to fp16 or from it"},
      {"schedule", Kind::boolean, true,
       "false: what plateau schedules and rollbacks have made of the learning rate is forgotten"},
      {"hooks", Kind::boolean, true, "false: hooks begin anew"},
      {"strict", Kind::boolean, true,
       "false: tensors that the snapshot and the run do not share are named in the log, and the run's begin anew"},
      {"rename", Kind::texts, std::vector<std::string>{},
       "\"PATTERN -> TEXT\" for the names of the snapshot's parameters and buffers, and of the optimizers' state of "
       "these"}}},
    {"dist",
     "several processes that train together",
     {one_of({"auto", "gloo", "nccl"}, "backend", "auto", "how they talk: nccl between GPUs, gloo between CPUs"),
      {"url", Kind::text, "",
       "where the nodes meet, for those that get a --rank: tcp://HOST:PORT or file:///PATH; --dist-url"},
      {"max_restarts", Kind::integer, std::int64_t{0}, "how often all start again where a process dies; --max-restarts",
       0, 1e6},
      {"timeout", Kind::real, 300.0, "seconds after which a process that does not answer is given up", 1, 1e6},
      {"bucket_mb", Kind::real, 25.0, "gradients travel in pieces of this many MiB", 0.001, 1e6},
      {"first_bucket_mb", Kind::real, 1.0, "the first piece, which is to leave early", 0.001, 1e6},
      one_of({"none", "fp16", "bf16"}, "compress", "none", "gradients travel with half the bits"),
      {"same_draws", Kind::boolean, false,
       "what the net draws (dropout) is the same in all processes; otherwise each has draws of its own"},
      {"sync_batch_norm", Kind::boolean, false,
       "batch normalisation takes its statistics over the rows of all processes"},
      {"find_unused", Kind::boolean, false, "some parameters may take no part in an iteration's loss"}}},
    {"display",
     "what is shown while training",
     {{"every", Kind::integer_or_text, std::int64_t{20}, period, 0, most},
      one_of({"auto", "bar", "plain", "off"}, "progress", "auto", "auto: a bar on a terminal, plain lines elsewhere"),
      {"report", Kind::boolean, true,
       "write report.html into the run's folder: charts, pictures, the graph, how to repeat it"},
      {"tensorboard", Kind::boolean, true, "the run folder gets event files for TensorBoard, in tensorboard/"},
      {"histograms", Kind::integer_or_text, zero,
       "how often these get histograms of weights and gradients, for which training waits: " + period, 0, most},
      {"prometheus", Kind::text, text(""),
       "PORT or HOST:PORT at which Prometheus may read the run's metrics, while it trains; without a HOST only from "
       "this machine (127.0.0.1); empty = nowhere"}}},
};

}  // namespace

const std::vector<KeyTable>& core_tables() { return tables; }

const std::vector<Key>& core_keys(std::string_view table) {
  for (auto& each : tables)
    if (each.name == table) return each.keys;
  throw InternalError(concat("no core table [", table, "]"));
}

bool is_of_loader(const std::string& data_key) {
  static const std::set<std::string> names = {"bad", "max_bad", "val_share", "epoch", "batches"};
  return names.contains(data_key);
}

std::vector<Key> joined(const std::vector<Key>& core, const std::vector<Key>& extra) {
  auto keys = core;
  for (auto& key : extra) {
    auto same = std::find_if(keys.begin(), keys.end(), [&](auto& each) { return each.name == key.name; });
    if (same == keys.end())
      keys.push_back(key);
    else
      *same = key;
  }
  return keys;
}

}  // namespace flowtrain

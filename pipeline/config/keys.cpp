#include "pipeline/config/keys.h"

#include <algorithm>

namespace flowtrain {
namespace {

constexpr std::int64_t zero = 0, one = 1;
constexpr double most = 9e15;     // integers up to here are exact as doubles
constexpr double finite = 1e300;  // keeps infinity out
const std::string period = "iterations, \"2 epochs\", \"10 per epoch\", or 0 = never";
const std::vector<std::string> state_parts{"params", "optim", "schedule", "random"};
std::string text(const char* value) { return value; }

Key one_of(std::vector<std::string> choices, const char* name, const char* fallback, const char* help) {
  return {.name = name, .kind = Kind::text, .fallback = text(fallback), .help = help, .choices = std::move(choices)};
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
      {"threads", Kind::integer, zero, "threads that compute uses on the CPU; 0 = one per core", 0, 4096},
      {"deterministic", Kind::boolean, true, "only kernels whose results are the same in every run"},
      {"dir", Kind::text, text("runs"), "folder that holds the runs' folders"},
      {"grace", Kind::real, 30.0, "seconds from SIGTERM or SIGUSR1 to the end, even without a snapshot", 0.1, 1e6},
      {"resume", Kind::text, text("none"),
       "none, auto (the newest run of this name), or a run's or snapshot's folder"}}},
    {"data",
     "the data set, for training and validation; its own keys stand here too",
     {{"dataset", Kind::text, text(""), "name of the data set's kind", 0, 0, {}, true},
      {"path", Kind::text, text(""), "file or folder of the data set"},
      {"split", Kind::text, text(""), "part of the data set; empty: the usual one for training or validation"},
      one_of({"skip", "stop"}, "bad", "skip", "a damaged sample is replaced (skip) or ends the run (stop)"),
      {"max_bad", Kind::integer_or_text, text("0.1%"),
       "damaged samples after which the run stops: a number, or a share of the data set (then at least 1)", 0, most}}},
    {"data.train", "keys of [data] that differ for training", {}},
    {"data.val", "keys of [data] that differ for validation", {}},
    {"sampler",
     "from a stored sample to a row of the batch; the sampler's own keys stand here too",
     {{"name", Kind::text, text("classify"), "a built-in sampler"},
      {"plugin", Kind::text, text(""), "a sampler plugin (.so) instead of a name"}}},
    {"mix",
     "training batches: their pictures mixed with one another, as `classify` gives them; done where the net computes",
     {{"mixup", Kind::real, 0.0, "two pictures blended: alpha of the Beta distribution of their weights; 0 = off", 0, 1e6},
      {"cutmix", Kind::real, 0.0, "a box cut out of another picture: alpha of the Beta distribution of its share; 0 = off",
       0, 1e6},
      {"prob", Kind::real, 1.0, "probability that a batch is mixed", 0, 1},
      {"switch_prob", Kind::real, 0.5, "probability of cutmix where both are on", 0, 1}}},
    {"mix.color",
     "colour jitter of RGB training pictures, done where the net computes; before anything else there",
     {{"brightness", Kind::real, 0.0, "levels times 1 ± up to this", 0, 10},
      {"contrast", Kind::real, 0.0, "distance from the picture's mean grey times 1 ± up to this", 0, 10},
      {"saturation", Kind::real, 0.0, "distance from each pixel's grey times 1 ± up to this", 0, 10},
      {"hue", Kind::real, 0.0, "colours turned by ± up to this part of a full turn", 0, 0.5},
      {"prob", Kind::real, 1.0, "probability that a picture's colours change", 0, 1}}},
    {"mix.erase",
     "random erasing: boxes of training pictures lose what they showed, before the pictures are mixed",
     {{"prob", Kind::real, 0.0, "probability that a picture loses a box", 0, 1},
      {"scale", Kind::reals, std::vector<double>{0.02, 0.33}, "least and most share of the area", 1e-6, 1},
      {"ratio", Kind::reals, std::vector<double>{0.3, 3.3}, "least and most height / width", 1e-3, 1e3},
      one_of({"mean", "random"}, "value", "mean", "what the box becomes: sampler.mean, or a random level at each value")}},
    {"order",
     "the order in which samples are seen; the order's own keys stand here too",
     {{"name", Kind::text, text("shuffle"), "name of the order"}}},
    {"loader",
     "the data line",
     {{"batch", Kind::integer, std::int64_t{64}, "samples of a batch, over all ranks", 1, 1 << 24},
      {"batch_per_rank", Kind::integer, zero,
       "samples of a batch on each rank, instead of batch, which grows with their number; 0 = not set", 0, 1 << 24},
      count_or("auto",
               {"workers", Kind::integer_or_text, text("auto"), 
                "threads that decode and augment; auto: one per core at first, then, like readers and prefetch unless "
                "given, what the first 20 s of training are fastest with", 1, 4096}),
      {"prefetch", Kind::integer, std::int64_t{4}, "batches ready or under way ahead of the net", 1, 4096},
      {"readers", Kind::integer, std::int64_t{2}, "threads that read files", 1, 1024},
      {"read_ahead", Kind::integer, std::int64_t{512},
       "remote shards: samples beyond prefetch whose bytes are asked for together with those near them", 0, 1 << 20},
      {"keep_mb", Kind::integer, zero,
       "megabytes (MiB) of memory for decoded training pictures, which are then decoded whole; worth it where most of "
       "them fit, at 3 bytes a pixel; of each process; 0 = none are kept", 0, 1 << 24},
      one_of({"wrap", "drop", "pad"}, "last", "wrap",
             "an epoch's last, incomplete batch: filled up from the epoch's start, left out, or padded without weight"),
      {"pin", Kind::boolean, true, "page-locked batches where the device copies from them (CUDA)"}}},
    {"net",
     "the model",
     {{"name", Kind::text, text(""), "a built-in net; needed for training, unless script is given"},
      {"script", Kind::text, text(""), "a TorchScript file instead of a name"},
      {"pretrain", Kind::text, text(""), "weights to start from: safetensors, or a .pth of torch.save(model.state_dict())"},
      {"strict", Kind::boolean, false, "pretrain must hold exactly the net's tensors"},
      {"drop", Kind::texts, std::vector<std::string>{},
       "pretrain: tensors left out, by regular expressions of their names (heads for other classes, say)"},
      {"rename", Kind::texts, std::vector<std::string>{},
       "pretrain: \"PATTERN -> TEXT\" for names, or \"cornernet\": those of the first CornerNet"},
      {"hidden", Kind::integers, std::vector<std::int64_t>{256, 128}, "mlp: widths of the hidden layers", 1, 1 << 24},
      {"stacks", Kind::integer, zero, "cornernet…: hourglasses one after the other; 0 = as published", 0, 16},
      {"stem", Kind::integers, std::vector<std::int64_t>{},
       "cornernet…: widths before the hourglass, each at half the size; empty = as published", 1, 1 << 16},
      {"widths", Kind::integers, std::vector<std::int64_t>{},
       "cornernet…: widths of the hourglass's levels, each at half the size; empty = as published", 1, 1 << 16},
      {"blocks", Kind::integers, std::vector<std::int64_t>{},
       "cornernet…: blocks of the hourglass's levels; empty = as published", 1, 64},
      {"dropout", Kind::real, 0.0, "mlp, lenet: share of activations dropped while training", 0, 0.999},
      {"channels_last", Kind::boolean, true, "lays pictures and weights out with the channels innermost"}}},
    {"loss",
     "what is minimised",
     {{"name", Kind::text, text("cross_entropy"), "name of the loss"},
      {"label_smoothing", Kind::real, 0.0, "cross_entropy: share of the target spread over all classes", 0, 0.999},
      {"pull_weight", Kind::real, 0.1, "cornernet: of the tags of one object's corners drawing together", 0, finite},
      {"push_weight", Kind::real, 0.1, "cornernet: of different objects' tags keeping apart", 0, finite},
      {"off_weight", Kind::real, 1.0, "cornernet: of the corners' places within their cells", 0, finite}}},
    {"optim",
     "the optimizer",
     {{"name", Kind::text, text("sgd"), "name of the optimizer"},
      {"lr", Kind::real, 0.1, "base learning rate", 0, finite},
      {"momentum", Kind::real, 0.0, "sgd: share of the last step that is kept", 0, 1},
      {"nesterov", Kind::boolean, false, "sgd: Nesterov's momentum; needs momentum > 0"},
      {"weight_decay", Kind::real, 0.0, "adamw: decoupled; otherwise added to the gradient", 0, finite},
      {"betas", Kind::reals, std::vector<double>{0.9, 0.999}, "adam, adamw: decay of the two moments", 0, 1},
      {"eps", Kind::real, 1e-8, "adam, adamw: added to the denominator", 0, finite}}},
    {"lr",
     "the learning rate's way: optim.lr / decay_rate^((i - 1) // stepsize) at iteration i",
     {{"stepsize", Kind::integer_or_text, zero, "from decay to decay: " + period, 0, most},
      {"decay_rate", Kind::real, 10.0, "what each decay divides by", 1e-6, 1e6}}},
    {"lr.warmup",
     "linear warm-up; the schedule goes on underneath",
     {{"t", Kind::integer, zero, "length of the warm-up; 0 = none", 0, most},
      one_of({"iter", "epoch"}, "by", "iter", "what t counts"),
      one_of({"fix", "factor", "auto"}, "mode", "auto",
             "start from init_lr (fix), from factor * the rate (factor), or from the rate / iterations (auto)"),
      {"init_lr", Kind::real, 0.0, "fix: learning rate of the first iteration", 0, finite},
      {"factor", Kind::real, 0.1, "factor: share of the learning rate in the first iteration", 0, 1}}},
    {"train",
     "the step",
     {{"accum", Kind::integer, one, "batches whose gradients make one step", 1, 1 << 20},
      {"clip", Kind::real, 0.0, "greatest 2-norm of all gradients together; 0 = off", 0, finite},
      one_of({"off", "bf16"}, "amp", "off", "forward in mixed precision"),
      one_of({"stop", "skip", "rollback"}, "nonfinite", "stop",
             "a loss or gradient that is not finite: ends the run, leaves that update out, or also goes back to the last "
             "snapshot's weights with a lower learning rate"),
      {"max_nonfinite", Kind::integer, std::int64_t{10},
       "updates left out in a row (skip), or rollbacks in all, after which the run stops", 1, most},
      {"rollback_lr", Kind::real, 0.5, "rollback: what the learning rate is multiplied by, each time", 0, 1}}},
    {"val",
     "validation while training",
     {{"every", Kind::integer_or_text, zero, period, 0, most},
      {"batches", Kind::integer, zero, "batches of one validation; 0 = the whole set", 0, most},
      {"batch", Kind::integer, zero, "samples of a batch; 0 = loader.batch", 0, 1 << 24},
      {"workers", Kind::integer, one, "threads that decode", 1, 4096},
      {"metrics", Kind::texts, std::vector<std::string>{"accuracy"},
       "figures beside the loss, of detection nets also ap, ap50 and so on; the first decides which snapshot is best"}}},
    {"detect",
     "from a detection net's maps to boxes: `test`, and val.metrics, for cornernet nets",
     {{"top_k", Kind::integer, std::int64_t{100}, "corners kept of each kind", 1, 10'000},
      {"num_dets", Kind::integer, std::int64_t{1000}, "pairs of corners kept", 1, 1'000'000},
      {"ae_threshold", Kind::real, 0.5, "greatest difference of the tags of two corners that belong together", 0, finite},
      {"nms_kernel", Kind::integer, std::int64_t{3}, "a corner is the greatest of its kind in a window of this side", 1, 99},
      one_of({"exp_soft_nms", "linear_soft_nms", "nms"}, "nms_algorithm", "exp_soft_nms",
             "what boxes that overlap a better one lose: score, by the square of the overlap or by the overlap, or all"),
      {"nms_threshold", Kind::real, 0.5, "linear_soft_nms, nms: overlap from which on", 0, 1},
      {"merge_bbox", Kind::boolean, false, "boxes become means of those that overlap them"},
      {"weight_exp", Kind::real, 8.0, "merge_bbox: how fast a box's weight falls with its distance", 0, finite},
      {"max_per_image", Kind::integer, std::int64_t{100}, "boxes of a picture", 1, 100'000},
      {"test_scales", Kind::reals, std::vector<double>{1}, "the picture is looked at in these sizes", 0.01, 16},
      {"test_flipped", Kind::boolean, true, "and mirrored"},
      {"init_sizes", Kind::integers, std::vector<std::int64_t>{192, 255},
       "cornernet_saccade: long sides of the first glances, in pixels", 16, 4096},
      {"att_scales", Kind::reals, std::vector<double>{1, 2, 4},
       "cornernet_saccade: how much closer to look at large, medium and small objects", 0.1, 100},
      {"att_threshold", Kind::real, 0.3, "cornernet_saccade: least attention to look there", 0, 1},
      {"att_nms_ks", Kind::integers, std::vector<std::int64_t>{3, 3, 3},
       "cornernet_saccade: as nms_kernel, for each attention map", 1, 99},
      {"att_max_crops", Kind::integer, std::int64_t{30}, "cornernet_saccade: places to look at in a picture", 1, 10'000},
      {"ref_dets", Kind::boolean, true, "cornernet_saccade: look closer at what the first glances found"}}},
    {"snapshot",
     "the state on disk",
     {{"every", Kind::integer_or_text, text("1 epoch"), period, 0, most},
      {"keep_last", Kind::integer, std::int64_t{3}, "newest snapshots that are kept; at least 1", 1, 1 << 20},
      {"keep_best", Kind::integer, one, "best snapshots that are kept beside them", 0, 1 << 20},
      {"keep_every", Kind::integer, zero, "snapshots of iterations that this divides are kept for good; 0 = none", 0, most},
      one_of({"wait", "skip"}, "when_busy", "wait",
             "the one before is still being written when the next is due: training waits, or this one is left out"),
      one_of({"go_on", "stop"}, "on_error", "go_on", "one that cannot be written: the run goes on, or ends"),
      {"save", Kind::texts, state_parts,
       "what is in one; to go on from one without all four takes --accept-changes, and the rest begins anew", 0, 0,
       state_parts},
      {"final", Kind::boolean, true, "also when training ends"}}},
    {"resume",
     "going on in an earlier run",
     {one_of({"same", "any"}, "world", "same",
             "any: with another number of ranks batch_per_rank makes another batch, and the run goes on with it")}},
    {"dist",
     "several processes that train together",
     {one_of({"auto", "gloo", "nccl"}, "backend", "auto", "how they talk: nccl between GPUs, gloo between CPUs"),
      {"url", Kind::text, "", "where the nodes meet, for those that get a --rank: tcp://HOST:PORT or file:///PATH; --dist-url"},
      {"max_restarts", Kind::integer, std::int64_t{0}, "how often all start again where a process dies; --max-restarts", 0, 1e6},
      {"timeout", Kind::real, 300.0, "seconds after which a process that does not answer is given up", 1, 1e6},
      {"bucket_mb", Kind::real, 25.0, "gradients travel in pieces of this many MiB", 0.001, 1e6},
      {"first_bucket_mb", Kind::real, 1.0, "the first piece, which is to leave early", 0.001, 1e6},
      one_of({"none", "fp16", "bf16"}, "compress", "none", "gradients travel with half the bits"),
      {"sync_batch_norm", Kind::boolean, false, "batch normalisation takes its statistics over the rows of all processes"},
      {"find_unused", Kind::boolean, false, "some parameters may take no part in an iteration's loss"},
      {"static_graph", Kind::boolean, false, "in every iteration the same parameters take part, in the same way"}}},
    {"display",
     "what is shown while training",
     {{"every", Kind::integer_or_text, std::int64_t{20}, period, 0, most},
      one_of({"auto", "bar", "plain", "off"}, "progress", "auto", "auto: a bar on a terminal, plain lines elsewhere")}},
};

}  // namespace

const std::vector<KeyTable>& core_tables() { return tables; }

const std::vector<Key>& core_keys(const std::string& table) {
  for (auto& each : tables)
    if (each.name == table) return each.keys;
  throw InternalError("no core table [" + table + "]");
}

std::vector<Key> joined(const std::vector<Key>& core, const std::vector<Key>& extra) {
  auto keys = core;
  for (auto& key : extra) {
    auto same = std::find_if(keys.begin(), keys.end(), [&](auto& each) { return each.name == key.name; });
    if (same == keys.end()) keys.push_back(key);
    else *same = key;
  }
  return keys;
}

}  // namespace flowtrain

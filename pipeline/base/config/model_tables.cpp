// The keys of the net and its training.

#include "pipeline/base/config/key_lines.h"

namespace flowtrain::key_lines {

namespace {

constexpr Decides net = training | tests;
constexpr Decides first = training | own;  // A resume does not read it.
constexpr Decides reaction = training | joint;
constexpr Decides averaged = training | validation | tests;
const std::vector<Needs> pretrained{{.key = "pretrain"}};

const std::vector<KeyTable> all_model_tables = {
    table("net", net, "the net, with its own keys",
          {key(net, "name", "", "name of the net; training needs one"),
           path(key(net | own, "pretrain", "",
                    "weights to start from: safetensors, or a .pth of torch.save(model.state_dict()); a path, or an "
                    "http(s):// or s3:// address, whose file is kept")),
           read_if(pretrained,
                   key(net | own, "sha256", "",
                       "hash that pretrain's file must have, in 64 hexadecimal digits; an address needs one")),
           read_if(pretrained, key(net | own, "strict", false,
                                   "refuse a pretrain file that does not hold exactly the net's tensors")),
           read_if(
               pretrained,
               key(net | own, "pretrain_key", "",
                   "pretrain: keys that lead to the tensors in a .pth with several dicts of them (\"state_dict_ema\", "
                   "\"ema.module\"); empty: the dict that fits the net best")),
           read_if(pretrained,
                   key(net | own, "pretrain_drop", Texts{},
                       "pretrain: regular expressions of tensors to leave out (heads for other classes, for example)")),
           read_if(pretrained, key(net | own, "pretrain_rename", Texts{},
                                   "pretrain: changes of names, \"PATTERN -> TEXT\", or \"cornernet\" for the names of "
                                   "the first CornerNet")),
           key(net, "channels_last", true, "store images and weights with the channels innermost")}),
    list("net.init", first,
         "first values of some parameters in place of the net's own; the last match counts, and pretrain comes after",
         {required(key(first, "params", "", "regular expression of parameter names: \"^fc\\\\.weight$\"")),
          required(choice(first, "rule",
                          {"normal", "constant", "trunc_normal", "uniform", "xavier_normal", "xavier_uniform",
                           "kaiming_normal", "kaiming_uniform", "orthogonal"},
                          "function of torch.nn.init that draws the values")),
          key(first, "value", 0.0, {-finite, finite}, "constant: the value"),
          key(first, "mean", 0.0, {-finite, finite}, "normal, trunc_normal: mean"),
          key(first, "std", 0.02, {1e-30, finite}, "normal, trunc_normal: standard deviation"),
          key(first, "range", Reals{}, {-finite, finite},
              "uniform, trunc_normal: least and greatest value; empty: mean ± 2 std (trunc_normal only)"),
          key(first, "gain", 1.0, {0, finite}, "xavier_…, orthogonal: factor of the usual values"),
          choice(first, "mode", {"fan_in", "fan_out"},
                 "kaiming_…: keep the size of activations (fan_in) or of gradients (fan_out)"),
          choice(first, "nonlinearity", {"relu", "leaky_relu", "tanh", "sigmoid", "linear"},
                 "kaiming_…: activation that follows the layer"),
          key(first, "negative_slope", 0.01, {0, finite}, "kaiming_… with leaky_relu: its slope below 0")}),
    table("loss", net, "the loss, which training minimises, with its own keys",
          {key(net, "name", "cross_entropy", "name of the loss")}),
    table("optim", training, "the optimizer, with its own keys; or several, [[optim]], each for some parameters",
          {key(training, "name", "sgd", "name of the optimizer"),
           key(training | own, "label", "", "name in schedules and metrics; empty: the optimizer's name"),
           key(training, "params", "", "regular expression of the names of its parameters; empty: all parameters"),
           key(training, "lr", 0.1, {0, finite}, "base learning rate"),
           key(training, "lr_base_batch", 0, {0, 1 << 24},
               "samples of an update for which lr is meant: lr is scaled by loader.batch * train.accum * accum / this; "
               "0 = no scaling"),
           key(training, "weight_decay", 0.0, {0, finite},
               "weight decay, decoupled or added to the gradient, as the optimizer defines it"),
           key(training, "losses", Texts{}, "losses of the training step that it minimises; empty: the first one"),
           key(training, "every", 1, {1, most}, "update only in iterations whose number this divides evenly"),
           key(training, "accum", 1, {1, most},
               "make one update for this number of iterations, with the mean of their gradients"),
           key(training, "clip", -1.0, {-1, finite},
               "limit of its own gradients, as in train.clip; -1 = train.clip, together with the other optimizers")},
          Repeats::maybe),
    list("group", training,
         "other values than those of [optim] for some parameters; the first group that matches counts",
         {required(key(training, "params", "", "regular expression of parameter names: \"bias$\", \"^conv1\\\\.\"")),
          key(training, "lr_mult", 1.0, {0, 1e6}, "factor of the learning rate"),
          key(training, "weight_decay", -1.0, {-1, finite},
              "weight decay in place of optim.weight_decay; -1 = the same"),
          key(training, "frozen", false, "never change these parameters and the running statistics of their layers")}),
    list("schedule", training,
         "schedule of an optimizer's hyper-parameter; several follow each other, or multiply if they overlap; replaces "
         "[lr]",
         {required(key(training, "name", "", "name of the schedule's kind")),
          key(training, "optim", "", "label of the optimizer; empty: all optimizers"),
          choice(training, "target", {"lr", "momentum", "weight_decay"},
                 "hyper-parameter that changes; momentum of adam is the first of betas"),
          key(training, "begin", 0, {0, most}, "number of iterations or epochs before it begins"),
          key(training, "end", 0, {0, most},
              "number of iterations or epochs after which the value stays; 0 = the end of the run"),
          choice(training, "by", {"iter", "epoch"}, "unit of begin, end and the lengths of this kind"),
          key(training, "smooth", false, "by = \"epoch\": change within epochs, too")}),
    table("lr", training,
          "step decay: optim.lr / decay_rate^((i - 1) // stepsize) at iteration i; [[schedule]] is more general and "
          "replaces it",
          {number_or(training, "stepsize", {}, 0, {0, most}, "distance of two decays: " + period),
           read_if({{.key = "stepsize"}}, key(training, "decay_rate", 10.0, {1e-6, 1e6}, "divisor of each decay"))}),
    table("lr.warmup", training, "linear warm-up of the learning rate; the schedule continues underneath",
          {key(training, "length", 0, {0, most}, "length of the warm-up; 0 = none"),
           choice(training, "by", {"iter", "epoch"}, "unit of length"),
           choice(training, "mode", {"auto", "fix", "factor"},
                  "first learning rate: init_lr (fix), factor * the rate (factor), or the rate / iterations (auto)"),
           key(training, "init_lr", 0.0, {0, finite}, "fix: learning rate of the first iteration"),
           key(training, "factor", 0.1, {0, 1}, "factor: share of the learning rate in the first iteration")}),
    table(
        "train", training, "the training iteration",
        {key(order | training | no_stream, "accum", 1, {1, 1 << 20}, "number of batches whose gradients make one step"),
         key(training, "clip", 0.0, {0, finite}, "limit to which gradients are clipped; 0 = off"),
         read_if({{.key = "clip", .or_list = "optim"}},
                 choice(training, "clip_by", {"norm", "value", "adaptive"},
                        "quantity that clip limits: the norm of all gradients together (norm), each element (value), "
                        "or each unit's gradient as a share of its weights (adaptive)")),
         read_if({{.key = "clip", .or_list = "optim"}, {.key = "clip_by", .value = "norm"}},
                 key(training, "clip_p", 2.0, {1e-3, infinity},
                     "clip_by = \"norm\": order of the norm; inf = the greatest magnitude")),
         key(training, "cuda_graph", false,
             "capture the whole step as a CUDA graph and repeat it, which saves the launch of each kernel; a line of "
             "the log says why if that is impossible"),
         choice(training, "amp", {"off", "bf16", "fp16"},
                "mixed precision of forward; fp16 scales the loss, so that small gradients survive"),
         choice(
             reaction, "nonfinite", {"stop", "skip", "rollback"},
             "reaction to a loss or gradient that is not finite: end the run (stop), leave out the update (skip), or "
             "also return to the last due snapshot or validation, with a lower learning rate (rollback)"),
         key(reaction, "max_nonfinite", 10, {1, most},
             "number of updates left out in a row (skip), or of rollbacks in all, after which the run stops"),
         read_if({{.key = "nonfinite", .value = "rollback"}},
                 key(training, "rollback_lr", 0.5, {0, 1}, "rollback: factor of the learning rate for each rollback")),
         choice(reaction, "on_error", {"stop", "save", "skip"},
                "reaction to an error in forward or backward (no memory on the device, a step of your own): end the "
                "run (stop), end it with a snapshot (save), or leave out the update (skip)"),
         read_if({{.key = "on_error", .value = "skip"}},
                 key(reaction, "max_skipped", 10, {1, most},
                     "on_error = \"skip\": number of updates left out in a row after which the run ends"))}),
    table("step", training | tests, "the training step, which computes the loss of a batch, with its own keys",
          {key(training | tests, "name", "supervised", "name of the training step")}),
    list("hook", training, "a hook, which is called at events of the run, with its own keys",
         {required(key(training, "name", "", "name of the hook")),
          key(training, "label", "", "name in messages and snapshots; empty: the hook's name"),
          key(training, "priority", 50, {-1'000'000, 1'000'000},
              "position among the hooks: lower ones are called first"),
          choice(training, "ranks", {"all", "first"}, "processes that call it: all, or only the first")}),
    table(
        "ema", averaged, "an exponential moving average of the weights",
        {key(averaged, "decay", 0.0, {0, 0.9999999},
             "average = decay * average + (1 - decay) * weights in each iteration; 0 = none"),
         read_if({{.key = "decay"}}, key(averaged, "warmup", true, "limit decay to (1 + i) / (10 + i) at iteration i")),
         read_if({{.key = "decay"}},
                 key(averaged | own, "validate", true, "use the average in validations and in `flowtrain test`"))})};

}  // namespace

const std::vector<KeyTable>& model_tables() { return all_model_tables; }

}  // namespace flowtrain::key_lines

// The keys of a run, its data and its loader.

#include "pipeline/base/config/key_lines.h"

namespace flowtrain::key_lines {

namespace {

constexpr Decides samples = order | rows | training | validation | tests;
constexpr Decides sampled = rows | validation | tests;
// Keys of data sets that say how records are fetched and kept, and not which.
const std::map<std::string, Decides> fetching{{"requests", nothing},     {"retries", nothing},  {"timeout_s", nothing},
                                              {"cache", nothing},        {"cache_mb", nothing}, {"memory_mb", nothing},
                                              {"row_groups_mb", nothing}};

const std::vector<KeyTable> all_data_tables = {
    table("", nothing, "", {key(nothing, "name", "", "name of the run; empty: the file's name without its extension")}),
    table(
        "run", nothing, "length, device and folder of the run",
        {key(training | joint, "max_iter", 0, {0, most}, "number of iterations to train; 0 = not set"),
         key(training | joint, "max_epochs", 0, {0, most},
             "number of epochs to train, in place of max_iter; 0 = not set"),
         number_or(order | rows | training | tests, "seed", {"random"}, 1, {0, most},
                   "seed of all random numbers; \"random\" draws a new seed for each run"),
         key(training | own, "device", "auto", "device of the net: auto, cpu, cuda, or cuda:N"),
         number_or(training | validation, "threads", {"auto"}, 0, {0, 4096},
                   "number of threads that compute on the CPU; 0 or auto: one for each core that the process may use"),
         key(training | tests, "deterministic", true, "use only kernels that repeat their results exactly"),
         choice(training, "cudnn", {"auto", "plain", "off"},
                "cuDNN on a GPU: auto tries its kernels and takes the fastest, unless deterministic is true; plain "
                "lets cuDNN choose; off uses other kernels"),
         path(key(nothing, "dir", "runs", "folder in which each run gets a folder")),
         key(nothing, "grace_seconds", 30.0, {0.1, 1e6},
             "seconds after SIGTERM, SIGHUP or SIGUSR1 in which the process ends, if need be without a snapshot"),
         path(key(order | rows | training | validation | joint, "plugins", Texts{},
                  "plugins (.so), which add data sets, samplers, nets and other parts that the other tables can name")),
         path(key(start, "resume", "none",
                  "run to resume: none, auto (the newest run of this name), or the folder of a run or snapshot"))}),
    table("data", samples, "the data set for training and validation, with its own keys",
          {required(key(samples, "dataset", "", "name of the data set's kind")),
           path(key(samples | no_stream, "path", "", "file or folder of the data set")),
           key(samples, "split", "", "part of the data set; empty: the usual part for training or for validation"),
           choice(samples | own | no_stream, "bad", {"skip", "stop"},
                  "replace a damaged sample (skip), or end the run (stop)"),
           number_or(samples | own | no_stream, "max_bad", {}, "auto", {0, most},
                     "limit of damaged samples: a number, a share of the data set (\"1%\", at least 1), or auto (0.1 "
                     "%, at least 10)"),
           key(samples, "val_share", -1.0, {-1, 0.9},
               "share of each class's training samples that is held out for validation, chosen by hashes of their "
               "names; -1 (the default) = 0.1 if the run validates and the data has no split for that, else 0"),
           number_or(
               samples, "epoch", {"longest", "shortest"}, "longest", {1, most},
               "end of an epoch with several sources: that of the longest, of the shortest, or a number of batches"),
           choice(samples, "batches", {"mixed", "one_source"},
                  "batches with several sources: rows of all sources (mixed), or of one source each")},
          Repeats::no, fetching),
    table("data.train", samples, "keys of [data] that differ for training", {}),
    table("data.val", samples, "keys of [data] that differ for validation", {}),
    table("data.test", samples,
          "keys of [data] that differ for `flowtrain test`; without these and [[test.set]] it uses the validation data",
          {}),
    table("data.source", samples,
          "one of several data sets for training, with the keys of its data set and of its order",
          {key(samples | own, "name", "", "name in messages; empty: that of the data set's kind"),
           required(key(samples, "dataset", "", "name of the data set's kind")),
           path(key(samples | no_stream, "path", "", "file or folder of the data set")),
           key(samples, "split", "", "part of the data set; empty: the usual part for training"),
           key(samples, "ratio", 0.0, {0, 1e9},
               "share of this source in all samples, relative to the ratios of the others; 0 = as many as it has"),
           key(samples, "rows", 0, {0, 1 << 24},
               "rows of this source in each batch, over all ranks, with fields of their own, which are called "
               "<source>.<field>; 0 = its rows are mixed with those of the others"),
           key(samples, "order", "", "order of its samples; empty: that of [order]")},
          Repeats::yes, fetching),
    table("sampler", sampled, "the sampler, which turns a stored sample into a row of a batch, with its own keys",
          {key(sampled, "name", "classify", "name of the sampler"),
           key(sampled | own, "process", false,
               "run the sampler in a process for each worker, so that a crash costs only the sample at hand"),
           key(sampled | own, "process_timeout", 60.0, {0.01, 1e6},
               "process = true: seconds for one sample, or a block of them, before the process is ended")},
          Repeats::no, {{"check_every", sampled | own}, {"slow_us", sampled | own}, {"path", sampled | no_stream}}),
    list(
        "field", sampled,
        "a field of the rows, made from a part of the sample by a transform, with the transform's own keys; with "
        "[[field]] tables sampler.name is \"fields\"",
        {required(key(sampled, "name", "", "name of the field in batches: \"image\", \"label\"")),
         key(sampled, "from", "",
             "part of the sample: a column of a table, or the ending of a file in a shard (\"txt\"); empty: the image"),
         required(key(sampled, "as", "", "name of the transform")),
         key(sampled, "source", "", "[[data.source]]s with rows: name of the source whose rows have the field")}),
    table("batch_augment", training,
          "mixing of the images of training batches on the net's device, for samplers such as `classify`",
          {key(training, "mixup", 0.0, {0, 1e6},
               "blend two images; alpha of the Beta distribution of their weights; 0 = off"),
           key(training, "cutmix", 0.0, {0, 1e6},
               "paste a box of another image; alpha of the Beta distribution of the box's share; 0 = off"),
           key(training, "prob", 1.0, {0, 1}, "probability that a batch is mixed"),
           key(training, "switch_prob", 0.5, {0, 1}, "probability of cutmix if both are on")}),
    table("batch_augment.color", training,
          "colour jitter of RGB training images on the net's device, before all other changes there",
          {key(training, "brightness", 0.0, {0, 10}, "levels are multiplied by 1 ± up to this"),
           key(training, "contrast", 0.0, {0, 10}, "distances from the image's mean grey times 1 ± up to this"),
           key(training, "saturation", 0.0, {0, 10}, "distances from each pixel's grey times 1 ± up to this"),
           key(training, "hue", 0.0, {0, 0.5}, "colours turn by ± up to this part of a full turn"),
           key(training, "prob", 1.0, {0, 1}, "probability that the colours of an image change")}),
    table("batch_augment.erase", training,
          "random erasing: boxes of training images are overwritten before the images are mixed",
          {key(training, "prob", 0.0, {0, 1}, "probability that an image loses a box"),
           key(training, "scale", Reals{0.02, 0.33}, {1e-6, 1}, "least and greatest share of the area"),
           key(training, "ratio", Reals{0.3, 3.3}, {1e-3, 1e3}, "least and greatest height / width"),
           choice(training, "value", {"mean", "random"},
                  "content of the box: sampler.mean, or a random level for each value")}),
    table("order", order, "the order of the samples, with its own keys",
          {key(order, "name", "shuffle", "name of the order")}, Repeats::no, {{"path", order | no_stream}}),
    table(
        "loader", nothing, "the loader of batches",
        {number_or(
             order | tests | no_stream, "batch", {"auto"}, 64, {1, 1 << 24},
             "number of samples of a batch, over all ranks; auto: as many as fit into memory by trial at the start"),
         key(order | tests, "budget", 0, {0, 1e12},
             "rows with a free axis: bound of a batch's length, which is its rows times its longest row; batches then "
             "hold samples of like length, in place of batch rows each (batch, if it is given, is the most rows); 0 = "
             "off"),
         key(order | rows | tests, "pack", false,
             "rows with a free axis: fill each row up to the field's max with several samples, whole ones, told apart "
             "by the fields position and segment"),
         read_if({{.key = "budget"}},
                 key(order | tests, "length_of", "",
                     "field whose free axis budget counts; empty: the first one that has a free axis")),
         choice(
             rows, "resizing", {"multi_scale", "progressive"},
             "choice among sizes of pictures: each iteration draws one (multi_scale), or the run begins with the first "
             "and ends with the last (progressive)"),
         read_if({{.key = "resizing", .value = "progressive"}},
                 key(rows, "resize_at", std::vector<std::int64_t>(), {1, most},
                     "iterations after which each further size begins; empty: the run has equal stages")),
         key(nothing, "batch_max", 0, {0, 1 << 24},
             "batch = \"auto\": greatest batch; 0 = the number of training samples"),
         key(nothing, "batch_memory_mb", 0, {0, 1 << 24},
             "batch = \"auto\": MiB that each process may use for a step and the batches ahead; 0 = 80 % of free "
             "memory"),
         key(order | tests | own | no_stream, "batch_per_rank", 0, {0, 1 << 24},
             "number of samples of a batch on each rank, in place of batch; 0 = not set"),
         number_or(nothing, "workers", {"auto"}, "auto", {1, 4096},
                   "number of threads that decode and augment; auto: one for each core at first, then the number that "
                   "is fastest in the first 20 s of training, as for readers and prefetch unless they are given"),
         key(nothing, "prefetch", 4, {1, 4096}, "number of batches that are prepared ahead of the net"),
         key(nothing, "readers", 2, {1, 1024}, "number of threads that read files"),
         key(nothing, "read_ahead", 512, {0, 1 << 20},
             "remote shards: number of samples beyond prefetch that may be requested together with their neighbours"),
         key(rows | no_stream, "cache_mb", 0, {0, 1 << 24},
             "MiB of memory, for each process, in which decoded training images are kept; they are then decoded at "
             "full size (3 bytes a pixel), which pays if most of them fit; 0 = none"),
         choice(order | no_stream, "last_batch", {"wrap", "drop", "pad"},
                "last, incomplete batch of an epoch: filled from its start (wrap), left out (drop), or with rows of "
                "weight 0 (pad)"),
         key(nothing, "pin", true, "keep batches in page-locked memory if the device copies from it (CUDA)")})};

}  // namespace

const std::vector<KeyTable>& data_tables() { return all_data_tables; }

}  // namespace flowtrain::key_lines

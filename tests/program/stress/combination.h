#pragma once
// Runs drawn from a seed: what a configuration may hold, in combinations that nobody would think of.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sampling/core/random.h"
#include "tests/support/temp_run.h"

namespace flowtrain {

/// Draws of one stream.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t index) : stream_(seed, Purpose::init, index) {}

  bool chance(double share) { return stream_.uniform() < share; }
  /// Both ends included.
  int between(int least, int most) {
    return least + static_cast<int>(stream_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  template <class T>
  T of(const std::vector<T>& choices) {
    return choices[stream_.below(choices.size())];
  }
  std::string of(std::initializer_list<const char*> choices) {
    return of(std::vector<std::string>(choices.begin(), choices.end()));
  }
  /// `count` different ones, in the order of `choices`; all where there are no more.
  template <class T>
  std::vector<T> some(std::vector<T> choices, std::size_t count) {
    while (choices.size() > count)
      choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(stream_.below(choices.size())));
    return choices;
  }

 private:
  Stream stream_;
};

/// A configuration under way.
class Toml {
 public:
  Toml& table(const std::string& name) { return line("[" + name + "]"); }
  Toml& entry(const std::string& name) { return line("[[" + name + "]]"); }
  Toml& number(const std::string& key, std::int64_t value) { return raw(key, std::to_string(value)); }
  Toml& word(const std::string& key, const std::string& text) { return raw(key, "\"" + text + "\""); }
  Toml& flag(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  Toml& words(const std::string& key, const std::vector<std::string>& texts) {
    std::string list;
    for (auto& text : texts) list += (list.empty() ? "\"" : ", \"") + text + "\"";
    return raw(key, "[" + list + "]");
  }
  /// `value` as it stands.
  Toml& raw(const std::string& key, const std::string& value) { return line(key + " = " + value); }
  const std::string& text() const { return text_; }

 private:
  Toml& line(const std::string& line) {
    text_ += line + "\n";
    return *this;
  }
  std::string text_;
};

/// A run to be trained, and what a test must know of it.
struct Combination {
  std::string toml;
  int processes = 1;
  int restarts = 0;             ///< --max-restarts
  int lines = 1;                ///< of training, on the terminal, unless the run is stopped early
  Words flags;                  ///< of each start, beside the configuration and the run's folder
  int accum = 1;                ///< micro-batches of an iteration
  bool has_witness = false;     ///< plugins/witness.cpp sees each iteration
  bool witness_in_all = false;  ///< also on the other ranks
  bool snapshots_wait = true;   ///< none is left out
  bool final_snapshot = true;
};

/// One combination. Its methods write a table each, in the order in which later ones depend on earlier ones.
class Composer {
 public:
  Composer(std::uint64_t seed, std::uint64_t index) : draw_(seed, index) {}

  Combination compose() {
    choose();
    run();
    data();
    loader();
    net();
    optimizers();
    groups();
    validation();
    rules();
    schedules();
    step();
    mixing();
    average();
    snapshots();
    hooks();
    processes();
    made_.toml = made_.has_witness ? with_plugins({"witness"}, toml_.text()) : toml_.text();
    return made_;
  }

 private:
  static constexpr int picture_size = 16;  // of the pictures

  // What several tables depend on.
  void choose() {
    made_.processes = draw_.of(std::vector{1, 1, 1, 2, 3});
    net_ = draw_.chance(0.06) ? "resnet18" : draw_.of({"mlp", "lenet"});
    deep_ = net_ == "resnet18";
    iterations_ = deep_ ? 10 : draw_.between(40, 80);
    made_.accum = deep_ ? 1 : draw_.of(std::vector{1, 1, 2, 3});
    several_optimizers_ = draw_.chance(0.45);
    nonfinite_ = draw_.of({"stop", "stop", "skip", "rollback", "rollback"});
    overlapped_ = draw_.chance(0.5);
    amp_ = draw_.of({"off", "off", "off", "off", "off", "bf16", "bf16", "fp16"});
    if (deep_) amp_ = "off";
    averages_ = draw_.chance(0.35);
  }

  void run() {
    toml_.table("run").number("max_iter", iterations_).number("threads", 1).number("seed", draw_.between(1, 1000));
    toml_.number("grace_seconds", 100);
    const int display = draw_.of(std::vector{1, 1, 2, 3, 5});
    toml_.table("display").number("every", display);
    made_.lines = iterations_ / display;
  }

  void data() {
    val_samples_ = draw_.between(20, 60);
    if (!deep_ && draw_.chance(0.4)) return sources();
    toml_.table("data").word("dataset", "shapes").number("size", picture_size);
    toml_.number("samples", draw_.between(90, 320)).number("val_samples", val_samples_);
    if (draw_.chance(0.5)) order("name");
  }

  void sources() {
    const bool mixed = draw_.chance(0.6), has_ratios = draw_.chance(0.6);
    toml_.table("data").word("batches", mixed ? "mixed" : "one_source");
    if (const auto end = draw_.of({"longest", "shortest", "14"}); end == "14")
      toml_.raw("epoch", end);
    else
      toml_.word("epoch", end);
    for (int i = 0, count = draw_.between(2, 3); i < count; ++i) {
      toml_.entry("data.source").word("name", std::string(1, static_cast<char>('a' + i))).word("dataset", "shapes");
      toml_.number("size", picture_size).number("samples", draw_.between(100, 200)).number("seed", i);
      if (i > 0) toml_.raw("noise", draw_.of({"0.1", "0.2"}));
      if (has_ratios) toml_.number("ratio", draw_.between(1, 3));
      if (draw_.chance(0.3)) order("order");
    }
    toml_.table("data.val").word("dataset", "shapes").number("size", picture_size).number("val_samples", val_samples_);
  }

  // In the table of a source, or in one of its own.
  void order(const std::string& key) {
    if (key == "name") toml_.table("order");
    const auto kind = draw_.of({"block_shuffle", "sequential", "class_balanced", "weighted"});
    toml_.word(key, kind);
    if (kind == "block_shuffle")
      toml_.number("block", draw_.between(4, 32)).number("mixed_blocks", draw_.between(1, 4));
    if (kind == "weighted") toml_.raw("weights", "[1, 2, 1, 3, 1, 2]");
  }

  void loader() {
    toml_.table("loader").number("batch", deep_ ? 12 : draw_.between(8, 20));
    toml_.number("workers", draw_.between(1, 3)).number("prefetch", draw_.between(1, 6));
    // Batch normalisation takes no statistics of one row.
    toml_.word("last_batch", deep_ ? draw_.of({"wrap", "drop"}) : draw_.of({"wrap", "drop", "pad", "pad"}));
    if (draw_.chance(0.1)) toml_.number("cache_mb", 4);
    if (draw_.chance(0.4)) toml_.table("sampler").word("crop", draw_.of({"pad", "random_resized"}));
  }

  void net() {
    toml_.table("net").word("name", net_);
    if (net_ == "mlp") toml_.raw("hidden", draw_.of({"[32]", "[48, 24]", "[24, 24, 16]"}));
    if (!deep_ && draw_.chance(0.5)) toml_.raw("dropout", draw_.of({"0.1", "0.3"}));
    if (draw_.chance(0.2)) toml_.table("loss").raw("label_smoothing", "0.1");
    if (draw_.chance(0.2))
      toml_.entry("net.init").word("params", head() + "\\\\.weight$").word("rule", "normal").raw("std", "0.01");
  }

  // The last layer's parameters, as a pattern.
  std::string head() const {
    if (net_ == "mlp") return "^layers\\\\.[123]";
    return net_ == "lenet" ? "^fc3" : "^fc";
  }
  // All others.
  std::string body() const {
    if (net_ == "mlp") return "^layers\\\\.0\\\\.";
    return net_ == "lenet" ? "^(conv\\\\d|fc[12])\\\\." : "^(conv1|bn1|layer\\\\d)";
  }

  void optimizers() {
    if (!several_optimizers_) return optimizer("", "", 1);
    // One of them is at work in every iteration.
    const bool first = draw_.chance(0.5);
    optimizer("body", body(), first ? 1 : draw_.between(1, 3));
    optimizer("head", head(), first ? draw_.between(1, 3) : 1);
  }

  void optimizer(const std::string& label, const std::string& params, int every) {
    if (label.empty())
      toml_.table("optim");
    else
      toml_.entry("optim").word("label", label).word("params", params);
    const auto kind = draw_.of({"sgd", "sgd", "adam", "adamw"});
    toml_.word("name", kind).raw("lr", kind == "sgd" ? draw_.of({"0.02", "0.05"}) : draw_.of({"1e-3", "3e-3"}));
    const bool momentum = kind == "sgd" && draw_.chance(0.6);
    if (momentum) toml_.raw("momentum", "0.9").flag("nesterov", draw_.chance(0.4));
    if (draw_.chance(0.3)) toml_.raw("weight_decay", "0.001");
    if (draw_.chance(0.1)) toml_.number("lr_base_batch", 100);
    if (draw_.chance(0.2)) toml_.raw("clip", draw_.of({"0.5", "2.0"}));
    const int accum = draw_.chance(0.35) ? draw_.between(2, 3) : 1;
    if (accum > 1) toml_.number("accum", accum);
    if (every > 1) toml_.number("every", every);
    stateless_ &= kind == "sgd" && !momentum && accum == 1;
  }

  void groups() {
    if (draw_.chance(0.3)) toml_.entry("group").word("params", "bias$").raw("weight_decay", "0").raw("lr_mult", "2");
    if (net_ == "lenet" && draw_.chance(0.3))
      toml_.entry("group").word("params", "^conv1\\\\.weight").flag("frozen", true);
  }

  void validation() {
    const std::vector<std::vector<std::string>> choices{
        {"accuracy"}, {"accuracy", "f1", "top3"}, {"f1", "perplexity"}, {"balanced_accuracy"}, {}};
    auto metrics = draw_.of(choices);
    scalars_ = metrics;
    scalars_.push_back("loss");
    const bool grouped = !metrics.empty() && draw_.chance(0.3);
    if (grouped) scalars_.push_back(metrics.front() + ".star");
    if (!grouped && draw_.chance(0.3)) metrics.insert(metrics.end(), {"accuracy_per_class", "confusion"});
    toml_.table("val").words("metrics", metrics).word("mode", overlapped_ ? "async" : "inline");
    if (draw_.chance(0.2))
      toml_.word("every", "1 epoch");
    else
      toml_.number("every", deep_ ? 4 : draw_.between(4, 15));
    if (draw_.chance(0.3)) toml_.number("batch", draw_.between(5, 40));
    if (draw_.chance(0.3)) toml_.number("batches", draw_.between(1, 2));
    if (draw_.chance(0.2)) toml_.number("workers", 2);
    if (amp_ != "off" && draw_.chance(0.5)) toml_.word("amp", "bf16");
    if (grouped) toml_.word("group_by", "label");
    if (draw_.chance(0.25)) {
      toml_.entry("val.set").word("name", "other").number("val_samples", 33).number("seed", 9);
      scalars_.push_back("other.loss");
    }
  }

  void rules() {
    if (draw_.chance(0.4)) {
      toml_.table("early_stop").number("patience", draw_.between(1, 4)).word("metric", draw_.of(scalars_));
      never_improves();
    }
    own_best_ = draw_.chance(0.6);
    if (!own_best_) return;
    for (auto& scalar : draw_.some(scalars_, static_cast<std::size_t>(draw_.between(1, 3)))) {
      toml_.entry("best").word("metric", scalar).number("keep", draw_.between(1, 3));
      if (draw_.chance(0.3)) toml_.word("mode", draw_.of({"min", "max"}));
    }
  }

  // Otherwise few of these rules would do anything in so short a run.
  void never_improves() {
    if (draw_.chance(0.5)) toml_.raw("min_delta", "100");
  }

  void schedules() {
    if (draw_.chance(0.25)) return;
    if (draw_.chance(0.25)) {
      toml_.table("lr").number("stepsize", draw_.between(10, 30)).raw("decay_rate", "2");
      toml_.table("lr.warmup").number("length", draw_.between(2, 8)).word("mode", draw_.of({"auto", "factor"}));
      return;
    }
    if (draw_.chance(0.4)) schedule("warmup").number("length", draw_.between(2, 9));
    if (draw_.chance(0.6)) curve();
    if (draw_.chance(0.6)) plateau();
    if (draw_.chance(0.2)) schedule("cosine").word("target", "weight_decay").raw("min_factor", "0.1");
  }

  Toml& schedule(const std::string& name) {
    toml_.entry("schedule").word("name", name);
    if (several_optimizers_ && draw_.chance(0.5)) toml_.word("optim", draw_.of({"body", "head"}));
    return toml_;
  }

  void curve() {
    const auto kind = draw_.of({"cosine", "one_cycle", "poly", "step", "exponential", "multi_step"});
    schedule(kind);
    if (kind == "step") toml_.number("stepsize", draw_.between(8, 20)).raw("decay_rate", "2");
    if (kind == "exponential") toml_.raw("decay_rate", "1.02");
    if (kind == "multi_step") toml_.raw("milestones", "[6, 30]").raw("decay_rate", "3");
  }

  void plateau() {
    schedule("plateau").number("patience", draw_.between(0, 2)).word("metric", draw_.of(scalars_));
    toml_.raw("decay_rate", draw_.of({"2", "1.5"})).number("cooldown", draw_.between(0, 1));
    never_improves();
    keeps_schedule_ = true;
  }

  void step() {
    toml_.table("train").number("accum", made_.accum).word("amp", amp_).word("nonfinite", nonfinite_);
    if (draw_.chance(0.4)) {
      const auto by = draw_.of({"norm", "norm", "value", "adaptive"});
      toml_.word("clip_by", by).raw("clip", by == "norm" ? "1.0" : by == "value" ? "0.05" : "0.02");
    }
    toml_.number("max_nonfinite", 60);  // a scale of the loss that is too large at first counts, too
    if (nonfinite_ == "rollback") toml_.raw("rollback_lr", draw_.of({"0.5", "0.9"}));
    keeps_schedule_ |= nonfinite_ == "rollback";
  }

  void mixing() {
    if (draw_.chance(0.3)) {
      toml_.table("batch_augment").raw("mixup", draw_.of({"0.0", "0.4"})).raw("cutmix", draw_.of({"0.0", "1.0"}));
      toml_.raw("prob", "0.8");
    }
    if (draw_.chance(0.2)) toml_.table("batch_augment.color").raw("brightness", "0.4").raw("hue", "0.1");
    if (draw_.chance(0.2))
      toml_.table("batch_augment.erase").raw("prob", "0.5").word("value", draw_.of({"mean", "random"}));
  }

  void average() {
    if (!averages_) return;
    toml_.table("ema").raw("decay", draw_.of({"0.9", "0.97"})).flag("warmup", draw_.chance(0.5));
    toml_.flag("validate", draw_.chance(0.8));
  }

  void snapshots() {
    toml_.table("snapshot").number("keep_last", draw_.between(1, 4));
    if (draw_.chance(0.1))
      toml_.word("every", "1 epoch");
    else
      toml_.number("every", deep_ ? 3 : draw_.between(2, 14));
    if (draw_.chance(0.2)) toml_.number("keep_every", deep_ ? 6 : 20);
    if (!own_best_) toml_.number("keep_best", draw_.between(1, 3));
    if (draw_.chance(0.4)) toml_.flag("end_with_best", true);
    made_.final_snapshot = draw_.chance(0.85);
    if (!made_.final_snapshot) toml_.flag("final", false);
    // One that is left out because the disk is slow is none that a rollback could rely on.
    made_.snapshots_wait = nonfinite_ == "rollback" || made_.processes > 1 || draw_.chance(0.8);
    if (!made_.snapshots_wait) toml_.word("when_busy", "skip");
    saved_parts();
  }

  // Of the parts only those that hold nothing in this run may be left out: then it goes on as if they were there.
  void saved_parts() {
    std::vector<std::string> parts{"params"};
    if (!stateless_ || averages_ || amp_ == "fp16" || draw_.chance(0.5)) parts.push_back("optim");
    if (keeps_schedule_ || draw_.chance(0.8)) parts.push_back("schedule");
    if (draw_.chance(0.8)) parts.push_back("random");
    if (parts.size() == 4) return;
    toml_.words("save", parts);
    made_.flags.push_back("--accept-changes");
  }

  void hooks() {
    if (draw_.chance(0.4)) toml_.entry("hook").word("name", "norms").number("every", draw_.between(2, 7));
    const bool spoils = nonfinite_ != "stop";
    if (!spoils && draw_.chance(0.5)) return;
    made_.has_witness = true;
    toml_.entry("hook").word("name", "witness").word("log", "calls");
    toml_.number("sum_every", draw_.between(1, 6)).number("slow_ms", deep_ ? 0 : draw_.between(0, 3));
    if (spoils) {
      std::string iterations;
      for (int i = 0, count = draw_.between(1, 3); i < count; ++i)
        iterations += (i > 0 ? ", " : "") + std::to_string(draw_.between(3, iterations_ - 1));
      toml_.raw("infinite_at", "[" + iterations + "]");
    }
    // What changes gradients does so on all ranks.
    made_.witness_in_all = spoils || draw_.chance(0.6);
    if (!made_.witness_in_all) toml_.word("ranks", "first");
  }

  void processes() {
    if (made_.processes == 1) return;
    made_.flags.insert(made_.flags.end(), {"--distributed", "--world-size", std::to_string(made_.processes)});
    if (draw_.chance(0.4)) made_.restarts = 2;
    if (made_.restarts > 0) made_.flags.insert(made_.flags.end(), {"--max-restarts", std::to_string(made_.restarts)});
    toml_.table("dist").word("compress", draw_.of({"none", "none", "none", "bf16", "fp16"}));
    if (draw_.chance(0.5)) toml_.raw("bucket_mb", "0.05").raw("first_bucket_mb", "0.01");
    if (deep_) toml_.flag("sync_batch_norm", draw_.chance(0.5));
  }

  Draw draw_;
  Toml toml_;
  Combination made_;
  std::string net_, nonfinite_, amp_;
  int iterations_ = 0, val_samples_ = 0;
  bool deep_ = false, several_optimizers_ = false, overlapped_ = false, averages_ = false, own_best_ = false;
  bool stateless_ = true;             // the optimizers keep nothing from iteration to iteration
  bool keeps_schedule_ = false;       // plateaus and rollbacks do
  std::vector<std::string> scalars_;  // of a validation, those that a rule may be about
};

}  // namespace flowtrain

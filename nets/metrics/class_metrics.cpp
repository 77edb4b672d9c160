// Metrics of nets that give each row, pixel or position one of K classes: `logits` (B, K, …) against `label` (B, …). A
// mean over classes includes those that have a label or a prediction (balanced_accuracy: a label). A ratio whose
// divisor is 0 counts as 0.

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "nets/labels.h"
#include "nets/metrics/metric.h"
#include "sampling/core/mistake.h"
#include "sampling/sampler.h"
#include "sampling/tokens/tokenizer.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

constexpr std::int64_t most_pairs = 4096;  // classes whose pairs are counted: 128 MiB

/// The logits and labels of a batch. Sums stay on their device, so that update() never waits for it.
struct Labelled {
  const at::Tensor& logits;  ///< (B, K, …)
  at::Tensor label;          ///< (B, …) i64
  at::Tensor known;          ///< (B, …) bool: the label is known
  const NamedTensors& batch;

  std::int64_t classes() const { return logits.size(1); }
};

Labelled labelled(const NamedTensors& outputs, const NamedTensors& batch) {
  const at::Tensor& logits = outputs.at("logits");
  at::Tensor label = batch.at("label");
  check_labels(logits, label);
  label = label.to(at::kLong);
  at::Tensor known = label.ge(0);
  return {logits, std::move(label), std::move(known), batch};
}

std::vector<double> to_host(const at::Tensor& sums) {
  const at::Tensor host = sums.flatten().to(at::kCPU, at::kDouble).contiguous();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// A metric of labels.
class LabelMetric : public Metric {
 public:
  void update(const NamedTensors& outputs, const NamedTensors& batch) final {
    const at::NoGradGuard no_grad;
    add(labelled(outputs, batch));
  }
  void reset() final { sums_.reset(); }

 protected:
  virtual void add(const Labelled& rows) = 0;

  at::Tensor sums_;  ///< undefined before the first batch
};

/// The ratio of two sums.
class Ratio : public LabelMetric {
 public:
  std::vector<double> totals() const override { return sums_.defined() ? to_host(sums_) : std::vector<double>{0, 0}; }
  std::vector<double> scalars(const std::vector<double>& totals) const override {
    return {ratio(totals[0], totals[1])};
  }

 protected:
  void add_sums(const at::Tensor& part, const at::Tensor& whole) {
    const at::Tensor more = at::stack({part, whole});
    sums_ = sums_.defined() ? sums_ + more : more;
  }
};

[[noreturn]] void too_few_classes(std::int64_t k, std::int64_t classes) {
  throw std::invalid_argument(
      c10::str("top", k, " needs ", k, " classes or more, but there are ", classes, ": use top", classes, " at most"));
}

/// The share of the labels that are among the k largest logits.
class TopK final : public Ratio {
 public:
  TopK(std::int64_t k, std::int64_t classes) : k_(k) {
    if (classes > 0 && k > classes) too_few_classes(k, classes);
  }

  void add(const Labelled& rows) override {
    if (k_ > rows.classes()) too_few_classes(k_, rows.classes());
    // argmax() takes the first of equal logits, as all code that names a prediction does.
    const at::Tensor best = k_ == 1 ? rows.logits.argmax(1, /*keepdim=*/true) : std::get<1>(rows.logits.topk(k_, 1));
    const at::Tensor hits = best.eq(rows.label.unsqueeze(1)).sum();  // no class has a negative number
    add_sums(hits, rows.known.sum());
  }

 private:
  std::int64_t k_;
};

/// Returns the sum of the cross-entropies of all known labels. Each one is rounded to a multiple of 2^-24, which is
/// finer than logits in f32, so that f64 adds up to 2^29 exactly, in any order and for any number of processes. It
/// takes some rows at a time, as their logits in f64 are large for many classes.
at::Tensor entropy_of(const Labelled& rows) {
  constexpr std::int64_t most_values = 1 << 22;
  constexpr double steps = 1 << 24;
  const auto [logits, label] = side_by_side(rows.logits, rows.label);
  const std::int64_t all = logits.size(0);
  const std::int64_t at_once =
      all > 0 ? std::max<std::int64_t>(most_values / std::max<std::int64_t>(logits.numel() / all, 1), 1) : 1;
  at::Tensor sum = at::zeros({}, logits.options().dtype(at::kDouble));
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t some = std::min(at_once, all - first);
    const at::Tensor own = label.narrow(0, first, some);
    const at::Tensor logs = logits.narrow(0, first, some).to(at::kDouble).log_softmax(1);
    const at::Tensor log = logs.gather(1, own.clamp_min(0).unsqueeze(1)).squeeze(1).masked_fill(own.lt(0), 0);
    sum -= log.mul(steps).round().div(steps).sum();
  }
  return sum;
}

/// The exp of the mean cross-entropy.
class Perplexity final : public Ratio {
 public:
  void add(const Labelled& rows) override { add_sums(entropy_of(rows), rows.known.sum().to(at::kDouble)); }

  std::vector<double> scalars(const std::vector<double>& totals) const override {
    return {totals[1] > 0 ? std::exp(totals[0] / totals[1]) : std::nan("")};
  }
};

/// Returns whether each id below 256 is the byte of that value, and there is one more, which ends a text.
bool is_of_bytes(const Tokenizer& tokenizer) {
  constexpr std::uint32_t bytes = 256;
  if (tokenizer.vocabulary_size() != bytes + 1) return false;
  for (std::uint32_t id = 0; id < bytes; ++id)
    if (tokenizer.decode(std::span(&id, 1)) != std::string(1, static_cast<char>(id))) return false;
  return true;
}

/// The cross-entropy in bits for each byte of text: `label_bytes` (B, L) says how many a label stands for. Without that
/// field it is one, if the labels' tokenizer is that of bytes, or is not known and may be.
class BitsPerByte final : public Ratio {
 public:
  explicit BitsPerByte(std::span<const Field> fields) {
    const auto named = [&](const char* name) { return std::ranges::find(fields, name, &Field::name); };
    const auto label = named("label");
    if (label == fields.end() || named("label_bytes") != fields.end()) return;
    check_ids(label->values);
    if (label->tokenizer && !is_of_bytes(*label->tokenizer))
      refuse_ids(static_cast<std::int64_t>(label->tokenizer->vocabulary_size()));
  }

  void add(const Labelled& rows) override {
    at::Tensor bytes = rows.known & rows.label.lt(ids_of_bytes - 1);  // the last id ends a text, and is no byte
    if (rows.batch.contains("label_bytes"))
      bytes = rows.batch.at("label_bytes") * rows.known;
    else
      check_ids(rows.classes());
    add_sums(entropy_of(rows), bytes.sum().to(at::kDouble));
  }

  std::vector<double> scalars(const std::vector<double>& totals) const override {
    return {totals[1] > 0 ? totals[0] / std::log(2.0) / totals[1] : std::nan("")};
  }

 private:
  static constexpr std::int64_t ids_of_bytes = 257;

  static void check_ids(std::int64_t ids) {
    if (ids > ids_of_bytes) refuse_ids(ids);
  }

  [[noreturn]] static void refuse_ids(std::int64_t ids) {
    throw Mistake(c10::str("the ", ids, " ids stand for different numbers of bytes, which the batches do not say: ",
                           "they have no field `label_bytes`"),
                  "set bytes = true in the [[field]] of as = \"lm\"");
  }
};

/// The share of rows whose known labels are all predicted, among those that have any. Each document of a packed row
/// (`segment`) is a row of its own.
class ExactMatch final : public Ratio {
 public:
  void add(const Labelled& rows) override {
    const at::Tensor wrong = rows.logits.argmax(1).ne(rows.label).logical_and(rows.known);
    const at::Tensor place = places(rows);
    const auto counts = [&](const at::Tensor& each) {
      const at::Tensor values = each.flatten().to(at::kLong);
      return at::zeros_like(values).scatter_add_(0, place, values);
    };
    const at::Tensor counted = counts(rows.known).gt(0);
    add_sums(counts(wrong).eq(0).logical_and(counted).sum(), counted.sum());
  }

 private:
  /// Returns the number of the sequence, from 0, of each label.
  static at::Tensor places(const Labelled& rows) {
    const at::Tensor& label = rows.label;
    const bool packed = rows.batch.contains("segment") && rows.batch.at("segment").sizes() == label.sizes();
    at::Tensor begins = at::zeros_like(label).reshape({label.size(0), -1});
    if (label.numel() == 0) return begins.flatten();
    begins.select(1, 0).fill_(1);
    if (packed) begins.slice(1, 1).copy_(rows.batch.at("segment").diff().ne(0));
    return begins.flatten().cumsum(0) - 1;
  }
};

/// Counts per class, in slots; the last slot takes what is not counted.
class Counts : public LabelMetric {
 public:
  bool by_class() const final { return true; }
  std::vector<double> totals() const final {
    return sums_.defined() ? to_host(sums_.slice(0, 0, -1)) : std::vector<double>{};
  }

 protected:
  void count(std::int64_t slots, const at::Tensor& slot) {
    if (!sums_.defined()) sums_ = at::zeros({slots + 1}, slot.options());
    if (sums_.size(0) != slots + 1) throw std::invalid_argument("the number of classes changes from batch to batch");
    sums_.scatter_add_(0, slot.flatten(), at::ones({1}, slot.options()).expand(slot.numel()));
  }
};

/// Counts for each class: labels, predictions, and correct predictions.
struct Tally {
  explicit Tally(std::span<const double> totals)
      : classes(totals.size() / 3),
        labels(totals.first(classes)),
        predictions(totals.subspan(classes, classes)),
        hits(totals.last(classes)) {}

  std::size_t classes;
  std::span<const double> labels, predictions, hits;

  double precision(std::size_t c) const { return ratio(hits[c], predictions[c]); }
  double recall(std::size_t c) const { return ratio(hits[c], labels[c]); }
  double f1(std::size_t c) const { return ratio(2 * hits[c], labels[c] + predictions[c]); }
  double iou(std::size_t c) const { return ratio(hits[c], labels[c] + predictions[c] - hits[c]); }

  static double sum(std::span<const double> counts) {
    double sum = 0;
    for (const double each : counts) sum += each;
    return sum;
  }
  /// Averages over the classes that have a label or, if `predicted` is set, a prediction.
  double mean(double (Tally::*of)(std::size_t) const, bool predicted = true) const {
    double sum = 0, seen = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      if (labels[c] + (predicted ? predictions[c] : 0) == 0) continue;
      sum += (this->*of)(c);
      ++seen;
    }
    return ratio(sum, seen);
  }
};

double f1_micro(const Tally& tally) {
  return ratio(2 * Tally::sum(tally.hits), Tally::sum(tally.labels) + Tally::sum(tally.predictions));
}

double f1_weighted(const Tally& tally) {
  double sum = 0;
  for (std::size_t c = 0; c < tally.classes; ++c) sum += tally.labels[c] * tally.f1(c);
  return ratio(sum, Tally::sum(tally.labels));
}

/// The base of metrics that are computed from a Tally.
class TallyMetric : public Counts {
  void add(const Labelled& rows) final {
    const std::int64_t classes = rows.classes();
    const at::Tensor prediction = rows.logits.argmax(1);
    const auto each = [&](std::int64_t place, const at::Tensor& counts, const at::Tensor& of) {
      return at::where(counts, of + place * classes, 3 * classes);
    };
    count(3 * classes, at::stack({each(0, rows.known, rows.label), each(1, rows.known, prediction),
                                  each(2, rows.known & prediction.eq(rows.label), prediction)}));
  }
};

class TallyMean final : public TallyMetric {
 public:
  explicit TallyMean(double (*value)(const Tally&)) : value_(value) {}
  std::vector<double> scalars(const std::vector<double>& totals) const override { return {value_(Tally(totals))}; }

 private:
  double (*value_)(const Tally&);
};

class AccuracyPerClass final : public TallyMetric {
 public:
  MetricForm form() const override { return MetricForm::of_each_class; }
  std::vector<double> scalars(const std::vector<double>& totals) const override {
    const Tally tally(totals);
    std::vector<double> each;
    for (std::size_t c = 0; c < tally.classes; ++c)
      each.push_back(tally.labels[c] > 0 ? tally.recall(c) : std::numeric_limits<double>::quiet_NaN());
    return each;
  }
};

class Confusion final : public Counts {
 public:
  MetricForm form() const override { return MetricForm::class_pairs; }
  std::vector<double> scalars(const std::vector<double>& totals) const override { return totals; }

 private:
  void add(const Labelled& rows) override {
    const std::int64_t classes = rows.classes();
    if (classes > most_pairs)
      throw std::invalid_argument(c10::str("confusion of ", classes, " classes: expected ", most_pairs, " at most"));
    count(classes * classes, at::where(rows.known, rows.label * classes + rows.logits.argmax(1), classes * classes));
  }
};

auto make_tally_mean(double (*value)(const Tally&)) {
  return [value](const Settings&, const MetricInput&) { return std::make_unique<TallyMean>(value); };
}

template <class Kind>
std::unique_ptr<Metric> make_plain(const Settings&, const MetricInput&) {
  return std::make_unique<Kind>();
}

}  // namespace
#endif

FLOWTRAIN_PARTS(class_metrics) {
  const auto add = [&](const char* name, const char* help, auto make, TraitsOf<Metric> traits = {}) {
    parts.metrics.add({name, help, {}, make, traits});
  };
  add("accuracy", "share of labels that are the largest logit",
      FLOWTRAIN_MAKE(
          [](const Settings&, const MetricInput& input) { return std::make_unique<TopK>(1, input.classes); }));
  add("topN", "share of labels that are among the N largest logits; top5, for example, takes five",
      FLOWTRAIN_MAKE([](const Settings&, const MetricInput& input) {
        return std::make_unique<TopK>(top_of(input.name), input.classes);
      }));
  add("perplexity", "exp of the mean cross-entropy", FLOWTRAIN_MAKE(make_plain<Perplexity>), {.lower_is_better = true});
  add("bits_per_byte", "cross-entropy in bits, divided by the bytes of text that the labels stand for",
      FLOWTRAIN_MAKE(
          [](const Settings&, const MetricInput& input) { return std::make_unique<BitsPerByte>(input.fields); }),
      {.lower_is_better = true});
  add("exact_match", "share of rows whose labels are all the largest logits", FLOWTRAIN_MAKE(make_plain<ExactMatch>));
  add("accuracy_per_class", "recall of each class, as accuracy.<class>", FLOWTRAIN_MAKE(make_plain<AccuracyPerClass>),
      {.single = false});
  add("confusion", "table that counts labels (rows) and predictions (columns)", FLOWTRAIN_MAKE(make_plain<Confusion>),
      {.single = false});
  add("balanced_accuracy", "mean recall of the classes",
      FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) { return tally.mean(&Tally::recall, false); })));
  add("f1", "mean F1 of the classes",
      FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) { return tally.mean(&Tally::f1); })));
  add("f1_micro", "F1 of the summed counts of all classes", FLOWTRAIN_MAKE(make_tally_mean(f1_micro)));
  add("f1_weighted", "mean F1 of the classes, weighted by label counts", FLOWTRAIN_MAKE(make_tally_mean(f1_weighted)));
  add("mean_iou", "mean intersection over union of the classes",
      FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) { return tally.mean(&Tally::iou); })));
  add("pixel_accuracy", "share of pixels that are correct", FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) {
        return ratio(Tally::sum(tally.hits), Tally::sum(tally.labels));
      })));
  add("precision", "mean precision of the classes",
      FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) { return tally.mean(&Tally::precision); })));
  add("recall", "mean recall of the classes that have a label or a prediction",
      FLOWTRAIN_MAKE(make_tally_mean([](const Tally& tally) { return tally.mean(&Tally::recall); })));
}

}  // namespace flowtrain::nets

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "nets/losses/loss.h"
#include "sampling/core/mistake.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

at::Tensor on_host(const at::Tensor& integers) { return integers.to(at::kCPU, at::kLong).contiguous(); }

/// Returns a number for each of `rows` rows, on the host.
at::Tensor numbers_of_rows(const at::Tensor& values, const char* name, std::int64_t rows) {
  if (values.dim() != 1 || values.size(0) != rows || !at::isIntegralType(values.scalar_type(), /*includeBool=*/false))
    throw Mistake(
        c10::str(name, " has shape ", values.sizes(), " of ", values.scalar_type(), ", expected (B) of integers"),
        "give one length for each row");
  return on_host(values);
}

/// Connectionist temporal classification: A. Graves et al., ICML 2006, by ATen. The lengths are needed on the host, so
/// the loss waits for the device.
class Ctc final : public Loss {
 public:
  explicit Ctc(const Settings& settings)
      : blank_(settings.integer("blank")),
        per_label_(settings.boolean("per_label")),
        stops_(settings.text("too_long") == "stop") {}

  bool counts() const override { return true; }
  std::vector<std::string> scalars() const override { return {"too_long"}; }

  NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const override {
    const at::Tensor& logits = outputs.at("logits");
    if (logits.dim() != 3)
      throw Mistake(c10::str("loss ctc: logits have shape ", logits.sizes(), ", expected (B, K, T)"),
                    "choose a net that gives logits for each frame, such as conformer with head = \"ctc\"");
    const std::int64_t kinds = logits.size(1), blank = blank_ < 0 ? kinds - 1 : blank_;
    if (blank >= kinds)
      throw Mistake(concat("loss ctc: blank is ", blank, ", but the net gives the logits 0 to ", kinds - 1),
                    "leave loss.blank out: the blank is then the last logit");
    const at::Tensor label = label_of(batch, logits.size(0));
    const Rows rows = rows_of(label, frames_of(outputs, batch), kinds, blank, batch);
    // ATen's backward on GPUs adds in any order.
    const bool exact = logits.is_cuda() && at::globalContext().deterministicAlgorithms();
    const at::Tensor steps = (exact ? logits.cpu() : logits).to(at::kFloat).permute({2, 0, 1}).log_softmax(2);
    const at::Tensor losses = at::ctc_loss(steps, label.clamp_min(0).to(steps.device()), rows.frames, rows.labels,
                                           blank, at::Reduction::None, /*zero_infinity=*/false);
    const auto number = [&](double value) { return at::full({}, value, logits.options().dtype(at::kFloat)); };
    const at::Tensor sum = at::tensor(rows.weights).to(losses.device()).mul(losses).sum().to(logits.device());
    const auto all = static_cast<double>(logits.size(0)), count = static_cast<double>(rows.count);
    return {{"loss", mean_of(sum, number(count))}, {"too_long", number((all - count) / all)}, {"count", number(count)}};
  }

 private:
  /// The lengths of each row. A row whose transcript does not fit its frames, or without frames, has no label, and the
  /// weight 0.
  struct Rows {
    std::vector<std::int64_t> frames, labels;
    std::vector<float> weights;
    std::int64_t count = 0;  ///< rows that fit
  };

  /// Returns `label` (B, U) i64 on the host.
  static at::Tensor label_of(const NamedTensors& batch, std::int64_t rows) {
    const at::Tensor& label = batch.at("label");
    if (label.dim() != 2 || label.size(0) != rows || !at::isIntegralType(label.scalar_type(), /*includeBool=*/false))
      throw Mistake(c10::str("loss ctc: label has shape ", label.sizes(), " of ", label.scalar_type(),
                             ", and there are ", rows, " rows of logits; expected (B, U) of integers"),
                    "make the field `label` of transcripts: from = \"text\", as = \"tokens\", fill = -100");
    return on_host(label);
  }

  /// Returns the number of frames of each row, on the host.
  static at::Tensor frames_of(const NamedTensors& outputs, const NamedTensors& batch) {
    const at::Tensor& logits = outputs.at("logits");
    const std::int64_t rows = logits.size(0), all = logits.size(2);
    const bool of_net = outputs.contains("logits_length");
    if (!of_net && !batch.contains("features_length")) return at::full({rows}, all, at::kLong);
    const char* const name = of_net ? "logits_length" : "features_length";
    at::Tensor frames = numbers_of_rows((of_net ? outputs : batch).at(name), name, rows);
    if (const auto most = rows > 0 ? frames.max().item<std::int64_t>() : 0; most > all)
      throw Mistake(concat("loss ctc: ", name, " has ", most, ", but the net gives logits of ", all, " frames"),
                    "let a net that joins frames give their numbers as the output `logits_length`");
    return frames;
  }

  Rows rows_of(const at::Tensor& label, const at::Tensor& frames, std::int64_t kinds, std::int64_t blank,
               const NamedTensors& batch) const {
    const std::int64_t count = label.size(0), width = label.size(1);
    const at::Tensor lengths = batch.contains("label_length")
                                   ? numbers_of_rows(batch.at("label_length"), "label_length", count)
                                   : label.lt(0).cumsum(1).eq(0).sum(1);
    Rows rows;
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t own = lengths.const_data_ptr<std::int64_t>()[row],
                         given = frames.const_data_ptr<std::int64_t>()[row];
      if (own < 0 || own > width)
        throw Mistake(concat("loss ctc: label_length has ", own, ", but label has room for ", width),
                      "give the number of labels of each row");
      const std::int64_t* const labels = label.const_data_ptr<std::int64_t>() + row * width;
      std::int64_t needed = own;  // two labels that are alike need a blank between them, too
      for (std::int64_t i = 0; i < own; ++i) {
        if (labels[i] < 0 || labels[i] >= kinds || labels[i] == blank)
          throw Mistake(concat("loss ctc: a label is ", labels[i], ", but the net gives the logits 0 to ", kinds - 1,
                               ", of which ", blank, " is the blank"),
                        "make a net with one logit more than there are labels, or set loss.blank");
        needed += i > 0 && labels[i] == labels[i - 1] ? 1 : 0;
      }
      const bool fits = needed <= given && given > 0;
      if (!fits) report_too_long(row, std::max<std::int64_t>(needed, 1), given);
      rows.frames.push_back(given);
      rows.labels.push_back(fits ? own : 0);
      rows.weights.push_back(!fits ? 0 : per_label_ ? 1 / static_cast<float>(std::max<std::int64_t>(own, 1)) : 1);
      rows.count += fits ? 1 : 0;
    }
    if (count > 1 && rows.count == 0) report_none(count);
    return rows;
  }

  void report_too_long(std::int64_t row, std::int64_t needed, std::int64_t given) const {
    const std::string text = concat("loss ctc: the transcript of row ", row, " of a batch needs ", needed,
                                    " frames, but the net gives ", given);
    if (stops_) throw Mistake(text, "leave such recordings out, join fewer frames, or set loss.too_long = \"skip\"");
    if (!told_) warn(concat(text, "; such rows do not count, and their share of the rows is logged as loss.too_long"));
    told_ = true;
  }

  void report_none(std::int64_t count) const {
    if (std::exchange(told_none_, true)) return;
    warn(concat("loss ctc: none of the ", count, " transcripts of a batch fits the frames that the net gives, ",
                "and such a batch teaches nothing: join fewer frames, or take labels that hold more of a text"));
  }

  const std::int64_t blank_;
  const bool per_label_, stops_;
  mutable bool told_ = false, told_none_ = false;
};

}  // namespace
#endif

FLOWTRAIN_PARTS(ctc) {
  parts.losses.add(
      {"ctc",
       "connectionist temporal classification of `logits` (B, K, T) and the transcripts in `label` (B, U)",
       {{"blank", Kind::integer, std::int64_t{-1}, "logit that stands for no label; -1: the last one", -1, 1 << 30},
        {"per_label", Kind::boolean, true,
         "divide the loss of each transcript by its number of labels, as torch's reduction `mean` does"},
        {.name = "too_long",
         .kind = Kind::text,
         .fallback = std::string("skip"),
         .help = "skip transcripts that need more frames than there are, so that they do not count, or stop there",
         .choices = {"skip", "stop"}}},
       FLOWTRAIN_MAKE([](const Settings& settings, const LossInput&) { return std::make_unique<Ctc>(settings); }),
       {.mixes = false}});
}

}  // namespace flowtrain::nets

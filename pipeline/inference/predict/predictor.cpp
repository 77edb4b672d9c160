#include "pipeline/inference/predict/predictor.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <utility>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/validation/detection.h"
#include "pipeline/engine/validation/patient_detector.h"
#include "pipeline/inference/predict/token_predictions.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/field_parts.h"
#include "sampling/samplers/keys.h"
#include "sampling/transforms/text_ids.h"
#include "stages/loader/shown_row.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

// Addresses mostly wait for a server, so many are read at once.
constexpr unsigned remote_readers = 16;

unsigned readers_of(const Config& config, const std::vector<Input>& inputs) {
  const auto own = static_cast<unsigned>(*config.loader().readers);
  const bool is_remote = std::ranges::any_of(inputs, [](auto& input) { return input.remote != nullptr; });
  return is_remote ? std::max(own, remote_readers) : own;
}

/// Returns the reason why the record of a row was not used.
const std::string& damage_of(const Slab& slab, const RowWork& row) {
  return std::ranges::find(slab.bad(), row.position, &BadSample::position)->reason;
}

}  // namespace

Predictor::Predictor(const Config& config, const std::filesystem::path& snapshot, PredictionLimits limits,
                     const MakeLearner& make)
    : net_(config, snapshot),
      limits_(limits),
      batch_(batch_rows(net_.config(), false, 1)),
      workers_(workers_of(net_.config().loader().workers)) {
  const auto refuse = [&] {
    throw UserError(ExitCode::usage, snapshot.string() + ": the net was trained without classes",
                    "use the snapshot of a classifier, a detector or a model of language, or name a decoder: "
                    "--set decode.name=ctc_beam");
  };
  const auto fields = validation_fields(net_.config());
  if (classes().empty() && fields.empty()) refuse();
  hidden_.insert({"label", words_field});
  for (auto& field : fields) {
    for (auto& name : target_fields_of(field)) hidden_.insert(std::move(name));
    if (only_groups(config, field)) hidden_.insert(field.text("name"));
  }
  net_.lay_out(batch_);
  if (!writes()) token_field_ = token_field_of(net_.layout().fields());
  if (classes().empty() && !writes() && !token_field_) refuse();
  device_ = make_device(net_.session().device(), Loader::slabs(validation_prefetch), *net_.config().loader().pin);
  scheduler_.emplace(workers_);
  Learner& learner = net_.load(make, /*validates=*/true);
  detector_ = learner.detector();
  class_predictor_ = dynamic_cast<ClassPredictor*>(&learner);
  if (!detector_ && !class_predictor_) throw InternalError("the learner cannot predict");
}

void Predictor::count(std::uint64_t pictures, double seconds, double net_seconds) {
  PredictionTimes& times = warm_up_.pictures == 0 ? warm_up_ : warm_;
  times.pictures += pictures;
  times.seconds += seconds;
  times.net_seconds += net_seconds;
}

void Predictor::run(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take) {
  if (inputs.empty()) return;
  if (detects())
    detect(inputs, take);
  else
    classify(inputs, take);
}

Prediction Predictor::of_row(const Slab& slab, std::size_t row, const Input& input, const Logits& logits) const {
  const RowWork& work = slab.rows()[row];
  if (work.replaced > 0) return {.name = as_utf8(input.name), .damage = damage_of(slab, work)};
  Prediction prediction{.name = as_utf8(input.name)};
  if (writes()) {
    prediction.text = as_utf8(logits.texts.at(row));
  } else if (predicts_tokens() != (logits.length > 0)) {
    throw UserError(ExitCode::usage,
                    concat("the net gives `logits` of ", predicts_tokens() ? "rows, but the rows have labels of tokens"
                                                                           : "tokens, but the rows have one label"),
                    "use it with fields as those that it was trained on");
  } else if (predicts_tokens()) {
    add_tokens(slab, row, *token_field_, logits, prediction);
  } else {
    prediction.logits = std::span(logits.values).subspan(row * logits.classes, logits.classes);
    prediction.top = best_classes(prediction.logits, limits_.top);
  }
  if (limits_.pictures || records_.any()) prediction.input = show_row(slab, work);
  std::erase_if(prediction.input, [this](auto& field) { return hidden_.contains(field.name); });
  return prediction;
}

void Predictor::classify(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take) {
  const InputDataset dataset(inputs, classes(), net_.pixels(), net_.parts());
  const InputOrder order(inputs.size());
  LoaderParts parts{"predict",      dataset,  order,
                    net_.sampler(), *device_, Batches(inputs.size(), batch_, LastBatch::pad)};
  std::optional<ShapePlan> plan;
  if (const auto axes = free_axes_of(net_.layout().fields()); axes > 0) {
    MeasureOptions options{.axes = std::vector<std::size_t>(axes), .folder = {}, .settings = {}};
    std::iota(options.axes.begin(), options.axes.end(), 0);
    plan.emplace(ShapePlan{measure(dataset, net_.sampler(), options)});
    parts.plan = &*plan;
  }
  parts.seed = seed_of(net_.config());
  parts.batch = batch_;
  parts.shape.workers = workers_;
  parts.shape.readers = readers_of(net_.config(), inputs);
  parts.shape.prefetch = validation_prefetch;
  parts.iterations.last = parts.batches.per_epoch();
  auto since = Clock::now();
  Loader loader(std::move(parts));
  loader.start();
  std::size_t done = 0;
  for (Ticket ticket; loader.next(ticket);) {
    Slab& slab = loader.slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    const auto begin = Clock::now();
    const Logits logits = class_predictor_->predict(slab);
    const double net_seconds = seconds_since(begin);
    std::vector<Prediction> predictions;
    for (std::size_t row = 0; row < slab.rows().size(); ++row)
      predictions.push_back(of_row(slab, row, inputs[done++], logits));
    const auto good =
        static_cast<std::uint64_t>(std::ranges::count_if(predictions, [](auto& each) { return each.damage.empty(); }));
    loader.release(ticket);
    for (auto& prediction : predictions) take(prediction);
    const auto now = Clock::now();
    count(good, std::chrono::duration<double>(now - since).count(), net_seconds);
    since = now;
  }
}

void Predictor::detect(const std::vector<Input>& inputs, const std::function<void(Prediction&)>& take) {
  const InputDataset dataset(inputs, classes(), net_.pixels(), net_.parts());
  std::vector<std::uint64_t> ids(inputs.size());
  std::iota(ids.begin(), ids.end(), 1);
  PatientDetector detector(*detector_);
  auto since = Clock::now();
  detect_in(dataset, decoding_of(net_.config().table("sampler")), ids, workers_, detector,
            [&](const DetectedImage& detected) {
              Prediction prediction{.name = as_utf8(inputs[detected.image_result.record - 1].name),
                                    .damage = detected.damage};
              if (prediction.damage.empty()) {
                prediction.found = detected.image_result.found;
                std::erase_if(prediction.found, [&](auto& box) { return box.score < limits_.least_score; });
                std::ranges::stable_sort(prediction.found, std::greater(), &Detection::score);
                prediction.bgr = &detected.bgr;
              }
              const std::uint64_t good = prediction.damage.empty() ? 1 : 0;
              take(prediction);
              const auto now = Clock::now();
              count(good, std::chrono::duration<double>(now - since).count(), detected.seconds);
              since = now;
              return true;
            });
}

}  // namespace flowtrain

#include "stages/torch/validation/net_validator.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "nets/names.h"
#include "nets/package/compiled_net.h"
#include "nets/steps/make.h"
#include "sampling/core/mistake.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/tokens/edits.h"
#include "stages/evaluation/detection_metrics.h"
#include "stages/torch/detection/make_detector.h"
#include "stages/torch/named.h"
#include "stages/torch/step/autocast.h"
#include "stages/torch/step/learner_net.h"
#include "stages/torch/validation/ctc_prediction.h"
#include "stages/torch/validation/flip_average.h"
#include "stages/torch/validation/label_logs.h"

namespace flowtrain {

namespace {

const Settings* own_metric(const std::string& name, const std::vector<Settings>& own) {
  const auto found = std::ranges::find_if(own, [&](auto& each) { return label_of(each) == name; });
  return found == own.end() ? nullptr : &*found;
}

Logits read_rows(Readout& readout, const at::Tensor& logits, std::size_t rows) {
  const auto answer = readout.ask(logits);
  const auto classes = static_cast<std::size_t>(logits.size(1));
  readout.fetch();
  const auto values = readout[answer].first(rows * classes);
  return {.classes = classes, .values = {values.begin(), values.end()}};
}

// Reads the best class of each token with its probability, and the probability of the label where there is one.
Logits read_tokens(Readout& readout, const at::Tensor& logits, const nets::NamedTensors& batch, std::size_t rows) {
  const std::int64_t classes = logits.size(1), length = logits.size(2);
  const auto [greatest, best] = logits.max(1);
  const at::Tensor sums = log_sums(logits);
  const bool has_labels = batch.contains("label") && batch.at("label").scalar_type() == at::kLong &&
                          batch.at("label").sizes() == best.sizes();
  at::Tensor logs;
  if (has_labels) {
    const at::Tensor& labels = batch.at("label");
    logs = label_logs(logits, labels, sums)
               .masked_fill_(~known_labels(logits, labels), std::numeric_limits<double>::quiet_NaN());
  }
  const auto labels = readout.ask(best), scores = readout.ask((greatest - sums).exp_()), of_labels = readout.ask(logs);
  readout.fetch();
  const auto count = rows * static_cast<std::size_t>(length);
  Logits read{.classes = static_cast<std::size_t>(classes), .length = static_cast<std::size_t>(length)};
  for (const double label : readout[labels].first(count)) read.best.push_back(static_cast<std::int64_t>(label));
  read.scores.assign(readout[scores].begin(), readout[scores].begin() + static_cast<std::ptrdiff_t>(count));
  if (has_labels)
    read.label_logs.assign(readout[of_labels].begin(), readout[of_labels].begin() + static_cast<std::ptrdiff_t>(count));
  else
    read.label_logs.assign(count, std::numeric_limits<double>::quiet_NaN());
  return read;
}

// Makes a batch of `rows` rows by repeating the last row.
nets::NamedTensors filled_up(const nets::NamedTensors& batch, std::int64_t rows) {
  return mapped(batch, [&](const at::Tensor& tensor) {
    const std::int64_t missing = tensor.dim() > 0 ? rows - tensor.size(0) : 0;
    if (missing <= 0) return tensor;
    std::vector<std::int64_t> sizes = tensor.sizes().vec();
    sizes[0] = missing;
    return at::cat({tensor, tensor.narrow(0, tensor.size(0) - 1, 1).expand(sizes)});
  });
}

}  // namespace

NetValidator::NetValidator(const LearnerSpec& spec, const std::shared_ptr<nets::Net>& net, nets::Step& step)
    : val_(spec.tables.val),
      flipping_(*spec.tables.val.flip ? average_over_flips(net) : nullptr),
      flip_step_(flipping_ ? make_training_step(spec, *flipping_) : nullptr),
      step_(flip_step_ ? *flip_step_ : step),
      where_(spec.process.device),
      amp_(amp_type(*spec.tables.val.amp)),
      metrics_(spec.data.class_names) {
  if (const auto* const compiled = nets::compiled_net(*net)) least_rows_ = compiled->rows();
  if (spec.tables.detect) choose_detector(spec, *net);
  choose_decoder(spec);
  if (make_detector_ && *spec.tables.val.pictures > 0) detector();  // refuses values of [detect] that do not fit
  metrics_.group_by(*spec.tables.val.group_by);
  for (auto& name : *spec.tables.val.metrics) add_metric(name, spec);
  if (!spec.data.val_layout) return;
  metrics_.check_inputs(*net, *spec.data.val_layout, spec.tables.val, decoder_.has_value());
  batch_.emplace(*spec.data.val_layout, where_, spec.tables.net.boolean("channels_last"), std::nullopt,
                 spec.data.val_source);
}

void NetValidator::choose_detector(const LearnerSpec& spec, nets::Net& net) {
  const std::string name = detector_name(*spec.tables.detect, spec.tables.net);
  if (name.empty()) return;
  const auto& reads = detectors().at(name).traits.outputs;
  const auto missing = std::ranges::find_if(reads, [&](auto& output) { return !net.may_give(output); });
  if (missing == reads.end()) {
    const DetectorInput input{net, spec.data.val_layout ? *spec.data.val_layout : spec.data.train_layout,
                              *spec.tables.sampler, spec.data.classes, spec.process.device};
    make_detector_ = [name, &detect = *spec.tables.detect, input] { return make_detector(name, detect, input); };
    return;
  }
  no_detector_ =
      concat("the detector '", name, "' reads ", join(reads), ", and the net does not give '", *missing, "'");
  if (!spec.tables.detect->text("name").empty()) throw spec.tables.detect->error("name", no_detector_);
}

void NetValidator::choose_decoder(const LearnerSpec& spec) {
  if (!spec.tables.decode || spec.tables.decode->text("name").empty()) return;
  decode_ = spec.tables.decode;
  const auto& fields = (spec.data.val_layout ? *spec.data.val_layout : spec.data.train_layout).fields();
  const auto label = std::ranges::find(fields, "label", &Field::name);
  if (label != fields.end()) tokenizer_ = label->tokenizer;
  decoder_.emplace(*decode_, label == fields.end() ? nullptr : &*label,
                   spec.tables.loss.has("blank") ? spec.tables.loss.integer("blank") : -1);
}

void NetValidator::add_metric(const std::string& name, const LearnerSpec& spec) {
  if (name == "loss") return;
  const Settings* const own = own_metric(name, spec.tables.metrics);
  if (!own && is_detection_metric(name)) {
    check_finds_objects(name);
    detector();  // refuses values of [detect] that do not fit
    return;
  }
  const std::string kind = own ? own->text("name") : name;
  const Settings settings = own ? *own : Settings("val", nets::find_metric(kind)->keys);
  if (!own) settings.check_required(val_.metrics.origin().text());
  const auto& fields = (spec.data.val_layout ? *spec.data.val_layout : spec.data.train_layout).fields();
  rethrow_at_key(own ? *own : val_.metrics.table(), own ? "name" : val_.metrics.key(), [&] {
    metrics_.add(name, [kind, settings, classes = metrics_.classes(), fields] {
      return nets::make_metric(settings, {classes, kind, fields});
    });
  });
}

void NetValidator::check_finds_objects(const std::string& metric) const {
  if (!make_detector_)
    throw val_.metrics.error(
        "'" + metric + "' is a metric of nets that find objects, which this one does not", ExitCode::usage,
        no_detector_.empty() ? "metrics of other nets: " + join(nets::metrics().names()) : no_detector_);
  if (!val_.group_by->empty())
    throw val_.group_by.error("'" + metric + "' of val.metrics is a metric of boxes, which are not told by groups",
                              ExitCode::usage, "leave it out; each [[val.set]] is measured by itself");
}

Detector* NetValidator::detector() {
  if (!detector_ && make_detector_) detector_ = make_detector_();
  return detector_.get();
}

// Outputs become f32 again, which metrics take.
nets::Step::Evaluated NetValidator::evaluate(const nets::NamedTensors& batch, bool with_loss) {
  nets::Step::Evaluated seen;
  {
    std::optional<Autocast> cast;
    if (amp_) cast.emplace(amp_, where_.type());
    seen = with_loss ? step_.evaluate(batch) : nets::Step::Evaluated{step_.predict(batch), {}};
  }
  if (amp_)
    seen.outputs = mapped(seen.outputs, [this](const at::Tensor& tensor) {
      return tensor.scalar_type() == *amp_ ? tensor.to(at::kFloat) : tensor;
    });
  if (decoder_)
    rethrow_at_key(*decode_, "name", [&] { seen.outputs.set("prediction", ctc_prediction(*decoder_, seen.outputs)); });
  return seen;
}

void NetValidator::begin() {
  losses_.assign(step_.losses().size(), {});
  metrics_.begin();
}

RowResults NetValidator::add_rows(Slab& slab, std::span<const std::size_t> shown) {
  RowReader rows(slab.layout().fields(), shown);
  return measure(slab, &rows);
}

// Each batch waits once for a GPU: the loss and all that is read of rows come together.
RowResults NetValidator::measure(Slab& slab, RowReader* rows) {
  if (slab.share() == 0) return {};  // other processes have the rows of this batch
  const torch::NoGradGuard
      no_gradients;  // InferenceMode's tensors break a script whose graph was compiled while it trained
  const auto batch = (*batch_)(slab);
  const auto [outputs, loss, count] = evaluate(batch);
  Readout readout;
  const auto means = readout.ask(loss), counts = readout.ask(count);
  if (rows) rows->ask(readout, outputs, batch);
  readout.fetch();
  std::vector<LossSum> losses;
  for (const double mean : readout[means]) {
    const double terms = count.defined() ? readout[counts][losses.size()] : static_cast<double>(slab.row_count());
    LossSum& all = losses_.at(losses.size());
    losses.push_back({mean * terms, terms});
    all.sum += losses.back().sum;
    all.count += terms;
  }
  rethrow_at_key(val_.metrics.table(), val_.metrics.key(), [&, &seen = outputs] { metrics_.update(seen, batch); });
  if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
  if (!rows) return {};
  RowResults results = rows->read(readout);
  if (const auto records = slab.rows().size(); slab.layout().is_packed() || records != results.rows.size()) {
    results.rows.assign(records, {});  // packed rows hold several, which have no results of their own
    if (results.kind == "transcribe") results.kind = "samples";
  }
  results.losses = std::move(losses);
  return results;
}

Logits NetValidator::written(Slab& slab, const at::Tensor& prediction) const {
  const at::Tensor found = prediction.to(at::kCPU).contiguous();
  if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
  const auto width = static_cast<std::size_t>(found.size(1));
  const std::span<const std::int64_t> all(found.const_data_ptr<std::int64_t>(), slab.row_count() * width);
  Logits texts;
  for (std::size_t row = 0; row < slab.row_count(); ++row)
    texts.texts.push_back(text_of_ids(*tokenizer_, all.subspan(row * width, width)));
  return texts;
}

Logits NetValidator::predict(Slab& slab) {
  const torch::NoGradGuard no_gradients;
  if (decoder_ && !tokenizer_)
    throw decode_->error("name", "the field 'label' has no tokenizer, which makes a text of its ids", ExitCode::usage,
                         "make it of texts: [[field]] name = \"label\", as = \"tokens\"; or leave decode.name out");
  const nets::NamedTensors batch = filled_up((*batch_)(slab), least_rows_);
  const nets::NamedTensors outputs = evaluate(batch, /*with_loss=*/false).outputs;
  if (decoder_) return written(slab, outputs.at("prediction"));
  const std::int64_t dimensions = outputs.contains("logits") ? outputs.at("logits").dim() : 0;
  if (dimensions == 3 && outputs.contains("logits_length"))
    throw UserError(ExitCode::usage, "the net gives `logits` of frames, of which a decoder makes a text",
                    "name one: --set decode.name=ctc_beam");
  if (dimensions != 2 && dimensions != 3)
    throw UserError(ExitCode::usage,
                    "the net gives no `logits` of shape (rows, classes) or (rows, classes, tokens), so it predicts no "
                    "classes",
                    "use it with a net that classifies rows or tokens, or that finds objects");
  Readout readout;
  const Logits read = dimensions == 2 ? read_rows(readout, outputs.at("logits"), slab.row_count())
                                      : read_tokens(readout, outputs.at("logits"), batch, slab.row_count());
  if (slab.owner().copies()) slab.owner().consumed(slab.ticket().slot);
  return read;
}

Scalars NetValidator::end(Group& group) {
  std::vector<double> sums;
  for (const auto& [sum, count] : losses_) sums.insert(sums.end(), {sum, count});
  Scalars scalars = metrics_.end(group, sums);
  std::vector<LossSum> losses;
  for (std::size_t i = 0; i < sums.size(); i += 2) losses.push_back({sums[i], sums[i + 1]});
  scalars.insert(scalars.begin(), {"loss", sum_of_means(losses)});
  return scalars;
}

std::uint64_t validation_seed(const LearnerSpec& spec) {
  return Stream(spec.process.seed, Purpose::net, 0).next64() ^ mix64(rank_of_draws(spec));
}

}  // namespace flowtrain

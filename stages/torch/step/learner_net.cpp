#include "stages/torch/step/learner_net.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/record_function.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "nets/models/init.h"
#include "nets/package/compiled_net.h"
#include "nets/steps/make.h"
#include "sampling/core/mistake.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/device/gpu_facts.h"
#include "stages/model/net_rows.h"
#include "stages/torch/batch.h"
#include "stages/torch/step/parameter_groups.h"

namespace flowtrain {

namespace {

nets::InitRule init_rule_of(const Settings& settings) {
  nets::InitRule rule;
  rule.name = settings.text("rule");
  rule.value = settings.real("value");
  rule.mean = settings.real("mean");
  rule.std = settings.real("std");
  rule.range = settings.reals("range");
  rule.gain = settings.real("gain");
  rule.fan_out = settings.text("mode") == "fan_out";
  rule.nonlinearity = settings.text("nonlinearity");
  rule.negative_slope = settings.real("negative_slope");
  return rule;
}

// Limits torch to one thread while it lives: the rounding of a decomposition (orthogonal) depends on their number.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

// Sets the parameters that a rule of [[net.init]] matches, each by its last match, drawing from torch's default
// generator; the bits are the same for any number of threads. Throws UserError(usage) for a rule that matches no
// parameter, or cannot be used for one.
void apply_init_rules(const std::vector<Settings>& rules, const nets::NamedTensors& parameters) {
  if (rules.empty()) return;
  const OneThread alone;
  NamePatterns patterns(rules);
  for (const auto& [name, parameter] : parameters) {
    const auto matching = patterns.matching(name);
    if (matching.empty()) continue;
    const Settings& rule = rules[matching.back()];
    try {
      nets::initialise(parameter, init_rule_of(rule));
    } catch (const std::invalid_argument& error) {
      throw rule.error("rule", concat("parameter ", name, ": ", error.what()), ExitCode::usage,
                       "narrow params, or give another [[net.init]] after this one for parameters that it cannot set");
    }
  }
  patterns.check_used(parameters);
}

// Reports its mistakes at the key that names it.
class NamedStep final : public nets::Step {
 public:
  NamedStep(const Settings& settings, std::unique_ptr<nets::Step> step) : settings_(settings), step_(std::move(step)) {}

  std::vector<std::string> losses() const override { return step_->losses(); }
  std::vector<std::string> scalars(const std::vector<std::string>& wanted) const override {
    return step_->scalars(wanted);
  }
  bool counts(const std::string& name) const override { return step_->counts(name); }
  nets::NamedTensors operator()(const nets::NamedTensors& batch, const std::vector<std::string>& wanted) override {
    RECORD_USER_SCOPE("net");
    return rethrow_at_key(settings_, "name", [&] { return (*step_)(batch, wanted); });
  }
  Evaluated evaluate(const nets::NamedTensors& batch) override {
    return rethrow_at_key(settings_, "name", [&] { return step_->evaluate(batch); });
  }
  nets::NamedTensors predict(const nets::NamedTensors& batch) override {
    return rethrow_at_key(settings_, "name", [&] { return step_->predict(batch); });
  }

 private:
  const Settings settings_;
  std::unique_ptr<nets::Step> step_;
};

Settings supervised() {
  return {"step", {{"name", Kind::text, std::string("supervised"), "name of the training step"}}};
}

std::string capability_of(at::Device device) {
  if (device.is_cpu()) return at::get_cpu_capability();
  const auto gpus = gpu_facts().gpus;
  const auto index = static_cast<std::size_t>(std::max<int>(device.index(), 0));
  return index < gpus.size() ? gpus[index].capability : "";
}

// Returns the fields of training batches. Those of groups have the rows that this process takes of them, rounded up.
std::vector<nets::BatchField> training_fields(const LearnerSpec& spec) {
  const SlabLayout& layout = spec.data.train_layout;
  if (!trains_on_groups(spec)) return batch_fields(layout, spec.data.val_source);
  auto fields = batch_fields(layout);
  const std::int64_t world = spec.process.group->size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t rows = (*spec.data.sources)[layout.fields()[i].group].integer("rows");
    fields[i].shape.front() = (rows + world - 1) / world;
  }
  return fields;
}

nets::NetUse use_of_net(const LearnerSpec& spec) {
  nets::NetUse use{.fields = training_fields(spec),
                   .val_fields = {},
                   .short_batches = spec.data.short_batches,
                   .classes = spec.data.classes,
                   .capability = capability_of(at::Device(spec.process.device)),
                   .amp = *spec.tables.train.amp,
                   .val_amp = spec.tables.val.amp.given() ? *spec.tables.val.amp : "",
                   .mixes_labels = spec.data.mixing.mixes()};
  if (spec.data.val_layout) use.val_fields = batch_fields(*spec.data.val_layout, spec.data.val_source);
  return use;
}

/// Returns a net for larger images than those of the batches if the plan of the batches chooses their size; null if
/// there is none, and for packages, which compare the batches with their graphs.
std::shared_ptr<nets::Net> net_of_other_size(const LearnerSpec& spec, nets::NetInput input) {
  const auto& fields = spec.data.train_layout.fields();
  if (std::ranges::none_of(fields, &Field::sized) || spec.tables.net.has("package")) return nullptr;
  constexpr std::int64_t more = 32;
  input.height += more, input.width += more;
  try {
    return nets::make_net(spec.tables.net, input);
  } catch (const std::invalid_argument&) {
    return nullptr;
  }
}

// A net whose weights depend on the size of images would fail at the first batch of another size.
void check_sizes(const LearnerSpec& spec, const nets::Net& net, const nets::Net* of_other_size) {
  if (!of_other_size) return;
  const nets::NamedTensors own = net.parameters(), others = of_other_size->parameters();
  for (const auto& [name, parameter] : own)
    if (!others.contains(name) || others.at(name).sizes() != parameter.sizes())
      throw spec.tables.net.error(
          nets::key_of_net(spec.tables.net),
          concat("the parameter ", name, " depends on the size of the images, which differs between batches (sizes)"),
          ExitCode::usage, "give size in place of sizes, or choose a net that takes images of any size, as resnet18");
}

/// Returns the data that a net is made for.
nets::NetInput input_of(const LearnerSpec& spec) {
  nets::NetInput input{.classes = spec.data.classes};
  const auto& fields = spec.data.train_layout.fields();
  if (const Field* const field = pictures_of(fields))
    input.height = field->shape[0], input.width = field->shape[1], input.channels = field->shape[2];
  const std::string group = spec.data.val_source + ".";  // a net of groups is made for the fields of this one
  for (auto& field : fields) {
    const std::string name = field.name.starts_with(group) ? field.name.substr(group.size()) : field.name;
    if (name == "tokens" && !field.shape.empty()) input.vocabulary = field.values, input.length = field.shape[0];
    if (name == "type" && !field.shape.empty()) input.types = field.values;
    const bool are_frames = field.shape.size() == 2 && field.free_axes <= 1 && field.dtype == DType::f32;
    if (name == "features" && are_frames) input.features = field.shape[1];
    if (name == "label" && !field.shape.empty()) input.labels = field.values;
  }
  return input;
}

}  // namespace

std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec) {
  const auto& fields = spec.data.train_layout.fields();
  nets::NetInput input = input_of(spec);
  if (const std::string why = why_no_pictures(spec.tables.net, fields); !why.empty())
    throw spec.tables.net.error("name", why, ExitCode::usage, way_out_of_no_pictures);
  const auto of_other_size = net_of_other_size(spec, input);
  torch::manual_seed(Stream(spec.process.seed, Purpose::init, 0).next64());
  const char* const key = nets::key_of_net(spec.tables.net);
  std::shared_ptr<nets::Net> net =
      rethrow_at_key(spec.tables.net, key, [&] { return nets::make_net(spec.tables.net, input); });
  check_sizes(spec, *net, of_other_size.get());
  if (const auto* compiled = nets::compiled_net(*net))
    rethrow_at_key(spec.tables.net, key, [&] { compiled->check_use(use_of_net(spec)); });
  // Values are drawn before they move to a device, which has another generator.
  apply_init_rules(spec.tables.init, net->parameters());
  rethrow_at_key(spec.tables.net, key,
                 [&] { net->to(at::Device(spec.process.device), spec.tables.net.boolean("channels_last")); });
  return net;
}

bool trains_on_groups(const LearnerSpec& spec) {
  return spec.data.sources && &spec.data.train_layout != spec.data.val_layout;
}

std::uint64_t rank_of_draws(const LearnerSpec& spec) {
  return spec.tables.dist && spec.tables.dist->boolean("same_draws")
             ? 0
             : static_cast<std::uint64_t>(spec.process.group->rank());
}

std::unique_ptr<nets::Step> make_training_step(const LearnerSpec& spec, nets::Net& net) {
  const Settings settings = spec.tables.step ? *spec.tables.step : supervised();
  auto step = rethrow_at_key(settings, "name", [&] {
    return nets::make_step(settings, {net, spec.tables.net, spec.tables.loss, spec.data.classes});
  });
  if (nets::steps().at(settings.text("name")).traits.tells_apart) return step;
  return std::make_unique<NamedStep>(settings, std::move(step));
}

}  // namespace flowtrain

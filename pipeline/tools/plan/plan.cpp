#include "pipeline/tools/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/report/describe_net.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/validation/best.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"
#include "stages/hooks/hooks.h"
#include "stages/loader/shown_row.h"
#include "stages/model/net_rows.h"

namespace flowtrain {

namespace {

/// The parts of a run that the plan describes.
struct PlanParts {
  const Config& config;
  const DataParts& train;
  const DataParts* val;  ///< null without validation
  bool async;            ///< Validation runs beside training.
  const RunPlan& run_plan;
  std::size_t slab_bytes;  ///< bytes of one training batch
  std::string no_net;      ///< reason for which no net is described; then `net` and `row_bytes` are empty
  NetSummary net = {};
  std::uint64_t row_bytes = 0;  ///< bytes that a row of a batch keeps for backward
  std::vector<ShownField> first_row = {};
};

constexpr std::size_t plot_columns = 64;
constexpr unsigned plot_rows = 6, indent = 12;

std::string line(const std::string& name, const std::string& text) {
  // Labels are the user's and may be long; "×" is one letter of two bytes.
  const auto letters = static_cast<std::size_t>(std::ranges::count_if(name, [](char c) { return (c & 0xc0) != 0x80; }));
  return name + std::string(letters < indent ? indent - letters : 1, ' ') + text + "\n";
}

std::string times(std::uint64_t count) { return count == 1 ? "once" : format_count(count) + " times"; }

/// Returns how many times something happens that is due every `every` iterations and after the last.
std::uint64_t occasions(const RunPlan& run_plan, bool (RunPlan::*happens)(std::uint64_t) const, const Every& every) {
  if (run_plan.last < run_plan.first) return 0;
  const std::uint64_t regular =
      std::min(every.ended(run_plan.last) - every.ended(run_plan.first - 1), run_plan.last - run_plan.first + 1);
  return regular + ((run_plan.*happens)(run_plan.last) && !every.ends(run_plan.last) ? 1 : 0);
}

std::string iterations_of(const Every& every) {
  return every.length % every.parts == 0 ? format_count(every.length / every.parts)
                                         : printed("%.4g", every.mean_length());
}

std::string steps(const PlanParts& parts) {
  const RunPlan& run_plan = parts.run_plan;
  const std::uint64_t per_step = parts.train.batch * run_plan.accum;
  const double epochs = epoch_of(parts.config, parts.train.batches).periods(run_plan.last);
  if (const auto* plan = parts.train.plan.get(); plan && plan->chooses_rows())
    return printed(
        "%s iterations, %.4g epochs, about %s samples; a step takes up to %s rows", format_count(run_plan.last).c_str(),
        epochs,
        format_count(static_cast<std::uint64_t>(std::llround(epochs * static_cast<double>(parts.train.order->size()))))
            .c_str(),
        format_count(per_step).c_str());
  return printed("%s iterations, %.4g epochs, %s samples; a step takes %s", format_count(run_plan.last).c_str(), epochs,
                 format_count(run_plan.last * per_step).c_str(), format_count(per_step).c_str()) +
         (run_plan.accum > 1 ? concat(" (", run_plan.accum, " batches of ", parts.train.batch, ")") : "");
}

std::string describe_source(const SourceShare& source) {
  if (source.rows > 0)
    return printed("%s: %s rows of each batch, %.4g passes an epoch through its %s", source.name.c_str(),
                   format_count(source.rows).c_str(), source.passes, format_count(source.records).c_str());
  return printed("%s: %s of an epoch's samples (ratio %.4g), %.4g passes through its %s", source.name.c_str(),
                 format_count(source.samples).c_str(), source.ratio, source.passes,
                 format_count(source.records).c_str());
}

std::string graph(const PlanParts& parts) {
  const std::uint64_t slabs = Loader::slabs(parts.train.prefetch);
  return concat(slabs, " batches under way at most (loader.prefetch + 2): ", format_count(slabs * parts.train.batch),
                " samples, ", format_bytes(slabs * parts.slab_bytes), "; ", parts.train.workers, " workers, ",
                parts.train.readers, " readers", parts.train.tunes ? ", to begin with" : "");
}

std::string validations(const PlanParts& parts) {
  const Every every = parts.run_plan.validate_every;
  if (every.off()) return "none";
  return concat(times(occasions(parts.run_plan, &RunPlan::validates_after, every)), ", every ", iterations_of(every),
                " iterations, on ", format_count(parts.val->dataset->size()), " samples");
}

std::string snapshots(const PlanParts& parts) {
  const Every every = parts.run_plan.snapshot_every;
  const std::uint64_t count = occasions(parts.run_plan, &RunPlan::snapshots_after, every);
  const SnapshotKeys snapshot = parts.config.snapshot();
  const bool by_clock = period(snapshot.every, true).seconds() > 0;
  if (count == 0) return by_clock ? concat("every ", std::get<std::string>(*snapshot.every)) : "none";
  const Every keep_every = period(snapshot.keep_every).to_iterations(epoch_of(parts.config, parts.train.batches));
  std::uint64_t best = 0;
  for (auto& rule : BestRule::all(parts.config)) best += rule.keep;
  const std::uint64_t kept = std::min(count, static_cast<std::uint64_t>(*snapshot.keep_last)) + (parts.val ? best : 0) +
                             keep_every.ended(parts.run_plan.last);
  const std::uint64_t bytes = weight_bytes(parts.net) + parts.net.optimizer_bytes;
  const char* more = parts.async ? ", more where a validation begins" : ", more where a validation is the best so far";
  const bool sized = parts.no_net.empty();
  return concat(times(count), every.off() ? "" : concat(", every ", iterations_of(every), " iterations"),
                sized ? concat(", ", format_bytes(bytes), " each: ", format_bytes(count * bytes), " written") : "",
                parts.val ? more : "", by_clock ? concat(", more every ", std::get<std::string>(*snapshot.every)) : "",
                "; at most ", kept, " are kept", sized ? concat(", ", format_bytes(kept * bytes)) : "");
}

std::string memory(const PlanParts& parts) {
  std::uint64_t gradients = 0;
  for (auto& parameter : parts.net.parameters)
    if (parameter.optimizer >= 0) gradients += parameter.bytes;
  const std::uint64_t batch = parts.row_bytes * parts.train.batch;
  const std::uint64_t state = weight_bytes(parts.net);
  const std::uint64_t copy = parts.async ? state : 0;
  return concat("about ", format_bytes(state + copy + gradients + parts.net.optimizer_bytes + batch),
                " where the net computes: weights ", format_bytes(state),
                copy > 0 ? concat(", their copy for validation ", format_bytes(copy)) : "", ", gradients ",
                format_bytes(gradients), ", optimizer ", format_bytes(parts.net.optimizer_bytes),
                ", what a batch leaves for backward ", format_bytes(batch));
}

/// Describes one value of an optimizer over the run, with a plot if it changes.
std::string moving(const RunPlan& run_plan, const std::string& name, const std::function<double(std::uint64_t)>& at) {
  const std::uint64_t count = std::max<std::uint64_t>(1, run_plan.last);
  std::vector<double> values;
  for (std::size_t column = 0; column < plot_columns; ++column)
    values.push_back(at(1 + column * (count - 1) / (plot_columns - 1)));
  if (std::ranges::count(values, values.front()) == std::ssize(values))
    return line(name, format_rate(values.front()) + " all the time");
  std::string text =
      line(name, concat(format_rate(values.front()), " at first, ", format_rate(at(1 + count / 4)), " at ",
                        format_count(1 + count / 4), ", ", format_rate(at(1 + count / 2)), " at ",
                        format_count(1 + count / 2), ", ", format_rate(values.back()), " at last"));
  return text + plot(values, plot_rows, 1);
}

std::string rates(const RunPlan& run_plan) {
  std::string text;
  for (std::size_t i = 0; i < run_plan.optimizers.size(); ++i) {
    const HyperParameterPlan& plan = run_plan.optimizers[i];
    const auto named = [&](const char* what) {
      return run_plan.optimizers.size() > 1 ? concat(what, ".", plan.label) : std::string(what);
    };
    text += moving(run_plan, named("lr"), [&](std::uint64_t iteration) { return plan.at(iteration).lr; });
    if (!plan.momentum.empty())
      text += moving(run_plan, named("momentum"), [&](std::uint64_t iteration) { return plan.at(iteration).momentum; });
    if (!plan.weight_decay.empty())
      text +=
          moving(run_plan, named("decay ×"), [&](std::uint64_t iteration) { return plan.at(iteration).weight_decay; });
  }
  return text;
}

std::string list_parameters(const NetSummary& net, const std::vector<HyperParameterPlan>& optimizers) {
  std::string text;
  for (auto& parameter : net.parameters) {
    const std::string owner =
        parameter.optimizer < 0 ? "frozen" : optimizers[static_cast<std::size_t>(parameter.optimizer)].label;
    text += printed("%-56s %12s %9s  %-18s %s\n", parameter.name.c_str(), format_count(parameter.elements).c_str(),
                    format_bytes(parameter.bytes).c_str(), join(parameter.shape, "x").c_str(), owner.c_str());
  }
  return text;
}

/// Describes the fields of a row, with the values of the first one; for rows with free axes also the padding of some of
/// the first epoch's batches.
std::string rows(const PlanParts& parts) {
  const DataParts& train = parts.train;
  const SlabLayout layout = slab_layout(train);
  std::string text;
  const auto described = [&](const Field& field) {
    const auto shown = std::ranges::find(parts.first_row, field.name, &ShownField::name);
    const bool tells = shown != parts.first_row.end() && !shown->shown.text.empty();
    return concat(describe_field(field), tells ? concat("; the first: ", shown->shown.text) : "");
  };
  for (auto& field : layout.fields()) text += line(text.empty() ? "row" : "", described(field));
  if (const auto sizes = describe_resizing(parts.config, train); !sizes.empty()) text += line("", sizes);
  if (!train.plan || !train.plan->has_lengths()) return text;
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  const BatchPlanner planner(*train.order, train.batches, train.slice, 1, 1, train.plan.get());
  constexpr std::uint64_t most_batches = 500;
  const std::uint64_t step = std::max<std::uint64_t>(1, train.batches.per_epoch() / most_batches);
  Filling filling;
  for (std::uint64_t batch = 0; batch < train.batches.per_epoch(); batch += step) {
    planner({.iteration = batch + 1}, slab);
    train.plan->add_to(filling, slab);
  }
  return text + line("", printed("%.1f %% of the positions is padding", 100 * filling.padding()));
}

/// Returns the part of a row in what a batch keeps for backward; of one with the largest pictures.
std::uint64_t kept_by_row(std::uint64_t kept, const Slab& batch, const DataParts& train) {
  const bool resizes = train.plan && train.plan->sizes;
  return kept / batch.row_count() * (resizes ? batch.layout().bytes() : batch.bytes()) / batch.bytes();
}

bool names_net(const Config& config) { return !config.table("net").text("name").empty(); }

/// Returns why no net can be described: none is named, or the named one does not take rows of these fields; empty if
/// one can be.
std::string why_no_net(const Config& config, const std::vector<Field>& fields) {
  if (!names_net(config)) return "net.name is not given, so only the data are described";
  const std::string why = why_no_pictures(config.table("net"), fields);
  return why.empty() ? why : concat(why, "; ", way_out_of_no_pictures);
}

std::string describe_plan(const PlanParts& parts) {
  std::string text = line("run", steps(parts));
  text += line("data", concat(format_count(parts.train.dataset->size()), " samples, ", describe_batches(parts.train),
                              " an epoch; ", format_bytes(parts.slab_bytes),
                              parts.train.plan && parts.train.plan->varies() ? " the largest batch" : " a batch"));
  text += rows(parts);
  for (auto& source : parts.train.sources) text += line("", describe_source(source));
  text += line("graph", graph(parts));
  text += line("validation", validations(parts));
  if (names_net(parts.config)) text += line("snapshots", snapshots(parts));
  if (parts.no_net.empty()) {
    text += line("net", describe_net(parts.config.table("net"), parts.net));
    text += line("memory", memory(parts));
  } else {
    text += line("net", concat("none: ", parts.no_net));
  }
  if (names_net(parts.config)) text += rates(parts.run_plan);
  if (*parts.config.run().max_iter == 0 && *parts.config.run().max_epochs == 0)
    text += line("note", "neither run.max_iter nor run.max_epochs is given, so this is one epoch");
  if (batch_is_left_open(parts.config))
    text += line("note", concat(batch_left_open, ", on the run's device; these numbers are for batches of ",
                                parts.train.batch, "; --set loader.batch=N shows others"));
  for (auto& note : schedule_notes(parts.config, epoch_of(parts.config, parts.train.batches), parts.run_plan.last))
    text += line("note", note);
  return text;
}

}  // namespace

std::string plan_run(const Config& config, const MakeLearner& make_learner) {
  Session session(config, {.checks_memory = false});
  const DataParts& train = session.open_training();
  const ValidationSets& sets = session.open_validation();
  session.prepare();
  session.make_validation_loaders();
  const RunPlan run_plan = session.run_plan();
  PlanParts parts{config,
                  train,
                  sets.empty() ? nullptr : &sets.front()->data,
                  session.validates_async(),
                  run_plan,
                  slab_layout(train).bytes(),
                  why_no_net(config, train.sampler->fields())};
  // Two rows are needed, as batch normalisation takes no statistics of one.
  const std::uint32_t rows = std::min(2u, train.batch);
  LoaderParts few = loader_parts("train", train, config);
  if (!train.plan) {
    few.batches = Batches(train.order->size(), rows, LastBatch::wrap);
    few.batch = rows;
  }
  few.shape.prefetch = 1;
  const auto loader = session.make_loader(std::move(few));
  loader->start();
  Slab& batch = first_batch(*loader);
  if (parts.no_net.empty()) {
    const auto learner = session.make_learner(make_learner, loader->layout());
    parts.net = learner->net_summary();
    parts.row_bytes = kept_by_row(learner->memory_probe()->kept_bytes(batch), batch, train);
  }
  for (auto& record : batch.rows())  // the first one of each group
    if (record.place.row == 0 && record.place.begin == 0)
      std::ranges::move(show_row(batch, record), std::back_inserter(parts.first_row));
  loader->stop();
  return describe_plan(parts);
}

std::string summarise_net(const Config& config, const MakeLearner& make_learner) {
  Session session(config, {.checks_memory = false});
  const DataParts& train = session.open_training();
  const SlabLayout layout = slab_layout(train);
  const auto learner = session.make_learner(make_learner, layout);
  const NetSummary net = learner->net_summary();
  auto* const lister = dynamic_cast<LayerLister*>(learner.get());
  const std::string layers = lister ? describe_layers(lister->list_layers()) + "\n" : "";
  return describe_net(config.table("net"), net) + "\n\n" + layers + list_parameters(net, session.run_plan().optimizers);
}

std::string list_hooks(const Config& config, const MakeLearner& make_learner) {
  Session session(config, {.checks_memory = false});
  const DataParts& train = session.open_training();
  const SlabLayout layout = slab_layout(train);
  Hooks hooks;
  const auto learner = session.make_learner(make_learner, layout, &hooks);
  return hooks.describe();
}

}  // namespace flowtrain

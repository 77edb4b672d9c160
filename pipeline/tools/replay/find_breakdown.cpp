#include "pipeline/tools/replay/find_breakdown.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/base/errors/policies.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/tools/replay/replay.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

// Returns the first non-finite iteration that the run survived, by leaving out the update or going back.
std::optional<std::uint64_t> first_recovery(const std::filesystem::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto entry = parse_json(line);
    if (!entry.is_object() || entry.value("kind", "") != "nonfinite") continue;
    if (entry.value("recovery", "") != "scaled down") return entry.value("iter", std::uint64_t{0});
  }
  return {};
}

// Makes the iteration's batch again, and passes it through the net with the weights before its update.
void look_into(const Config& config, Learner& learner, Breakdown& breakdown) {
  learner.discard();
  Session session(config, {.checks_memory = false});  // the few batches needed no more memory when they were trained
  const DataParts& data = session.open_training();
  session.prepare();
  const auto loader =
      session.make_loader(loader_parts("train", data, config, breakdown.iteration, breakdown.iteration));
  loader->start();
  for (Ticket ticket; loader->next(ticket); loader->release(ticket)) {
    Slab& slab = loader->slab(ticket);
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    breakdown.origin = learner.nonfinite_search()->find(slab, !std::isfinite(breakdown.result.loss));
    if (!breakdown.origin) continue;
    breakdown.rows = slab.row_count();
    const std::size_t before = ticket.micro * breakdown.rows;
    for (const std::size_t row : breakdown.origin->rows)
      for (const RowWork& work : slab.rows())  // a packed row has several records
        if (work.place.row == row)
          breakdown.samples.push_back({before + row, work.position, work.id, data.dataset->describe(work.id)});
    return;
  }
}

// Returns a place such as "aten::addmm of layers.1, in the net".
std::string place_of(const NonFiniteOrigin& origin) {
  if (origin.phase == "batch") return concat("the batch's '", origin.layer, "'");
  if (origin.phase == "parameters")
    return concat("the parameter ", origin.layer, ", before the step, so the previous update caused it");
  if (origin.phase == "norm")
    return concat("the norm of all gradients (", origin.operation, "), each of which is finite");
  const std::string layer =
      origin.layer.empty() ? std::string() : concat(origin.after_layer ? " after " : " of ", origin.layer);
  return concat(origin.operation, layer,
                origin.phase == "backward" ? ", in the backward pass"
                : origin.phase == "loss"   ? ", in the loss"
                                           : ", in the net");
}

std::string share_text(const NonFiniteOrigin& origin) {
  const double share = static_cast<double>(origin.nans + origin.infinities) / static_cast<double>(origin.elements);
  std::string text = concat(origin.nans, " NaN and ", origin.infinities, " infinities among ", origin.elements,
                            " numbers (", printed("%.3g %%", 100 * share), ")");
  if (origin.largest_parameter > 0)
    text += concat("; ", origin.layer, "'s parameters reach ", origin.largest_parameter);
  return text;
}

std::string samples_text(const Breakdown& breakdown) {
  constexpr std::size_t most = 8;
  if (breakdown.samples.empty() || breakdown.origin->rows.size() == breakdown.rows)
    return concat("samples: all ", breakdown.rows, " rows of the batch together; no single row is to blame");
  std::string text = concat("samples, by ", breakdown.origin->rows_by, ":");
  for (std::size_t i = 0; i < std::min(most, breakdown.samples.size()); ++i) {
    const auto& sample = breakdown.samples[i];
    text += concat("\n  row ", sample.row, ": id ", sample.id, ", ", sample.source);
  }
  if (breakdown.samples.size() > most) text += concat("\n  and ", breakdown.samples.size() - most, " more");
  return text;
}

}  // namespace

BreakdownSearch find_breakdown(const EarlierRun& run, std::uint64_t last, const std::filesystem::path& requested,
                               const MakeLearner& make_learner, Interrupt& interrupt) {
  const auto recovered = run.folder ? first_recovery(*run.folder) : std::nullopt;
  const auto snapshot = snapshot_before(run, recovered ? std::min(*recovered, last) : last, true, requested);
  BreakdownSearch found;
  const std::uint64_t after = iteration_of(snapshot);
  found.from = after + 1;
  const NonFinitePolicy policy = NonFinitePolicy::from(run.config.train());
  std::uint64_t overflows = 0;  // consecutive failures
  const auto on_scalars = [&](std::uint64_t iteration, const StepStats& result, Learner& learner) {
    found.to = iteration;
    overflows = result.overflow ? overflows + 1 : 0;
    if (is_finite(result) && overflows <= policy.most) return iteration < last;
    found.breakdown = Breakdown{iteration, result, after};
    look_into(run.config, learner, *found.breakdown);
    return false;
  };
  found.exit_code = train_again(run, snapshot, Discarding::possible, make_learner, interrupt, on_scalars);
  return found;
}

std::string to_text(const Breakdown& breakdown) {
  const std::string text = concat(
      "iteration ", breakdown.iteration, ": ", what_is_not_finite(breakdown.result), " (trained again from ",
      breakdown.after > 0 ? concat("the snapshot of iteration ", breakdown.after) : "the initial weights", ")\n");
  if (!breakdown.origin)
    return text +
           "computed once more, that iteration was finite: what this device computes is not the same every time\n";
  return text + concat("first not finite: ", place_of(*breakdown.origin), "\n", share_text(*breakdown.origin), "\n",
                       samples_text(breakdown), "\n");
}

std::string to_json(const Breakdown& breakdown) {
  ordered_json report{{"iteration", breakdown.iteration},
                      {"from", breakdown.after},
                      {"loss", breakdown.result.loss},
                      {"grad_norm", breakdown.result.grad_norm}};
  if (const auto& origin = breakdown.origin) {
    report.update(ordered_json{{"phase", origin->phase},
                               {"operation", origin->operation},
                               {"layer", origin->layer},
                               {"after_layer", origin->after_layer},
                               {"made", {{"nan", origin->nans}, {"inf", origin->infinities}, {"of", origin->elements}}},
                               {"largest_parameter", origin->largest_parameter}});
    report["samples"] = ordered_json::array();
    for (auto& [row, position, id, source] : breakdown.samples)
      report["samples"].push_back({{"row", row}, {"position", position}, {"id", id}, {"source", source}});
    report["samples_by"] = origin->rows_by;
  }
  return json_text(report, 2) + "\n";
}

}  // namespace flowtrain

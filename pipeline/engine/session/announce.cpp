#include "pipeline/engine/session/announce.h"

#include "pipeline/base/config/idle_keys.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/report/describe_net.h"
#include "pipeline/engine/session/assembly.h"
#include "sampling/core/settings.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

std::string describe_classes(std::size_t classes) {
  return classes == 0 ? "" : concat(" in ", classes, classes == 1 ? " class" : " classes");
}

}  // namespace

void announce(const Session& session, const RunPlan& run_plan, Learner& learner) {
  const Config& config = session.config();
  const SessionOptions& options = session.options();
  const DataParts& train = session.train();
  const bool several = !train.sources.empty();
  log_info(concat("data: ", several ? describe_shares(train.sources) : format_count(train.dataset->size()) + " samples",
                  describe_classes(train.dataset->classes().size()), describe_sizes(session.validation()), "; ",
                  several ? "an epoch = " : "", describe_batches(train),
                  several ? concat(" (", epoch_end_of(config), ")") : " an epoch"));
  log_info(concat("device: ", session.device(), "; ", train.workers, train.workers == 1 ? " worker" : " workers",
                  "; iterations ", run_plan.first, " to ", run_plan.last));
  if (const auto sizes = describe_resizing(config, train); !sizes.empty()) log_info("pictures: " + sizes);
  if (!options.dry_run) log_info("net: " + describe_net(config.table("net"), learner.net_summary()));
  // Listing runs two forward passes, so only the first process of a fresh start writes the list to train.log.
  auto* const lister = dynamic_cast<LayerLister*>(&learner);
  if (lister && options.group->leads() && run_plan.first == 1 && !options.dry_run) {
    const std::string layers = describe_layers(lister->list_layers());
    for (auto& line : text_lines(layers, "layers")) log_debug(concat("net: ", line));
  }
  tell_left_open_batch(config);
  for (auto& note : schedule_notes(config, session.epoch(), run_plan.last)) log_info("note: " + note);
  for (auto& note : idle_keys(config)) log_info("note: " + note);
  if (run_plan.first > run_plan.last) log_info("no iteration is left to do; --max-iter sets the length of a run");
}

}  // namespace flowtrain

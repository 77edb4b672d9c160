#include "pipeline/engine/pictures/picture_log.h"

#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/pictures/picture_folder.h"
#include "pipeline/engine/train/logger_entry.h"
#include "sampling/core/text.h"

namespace flowtrain {

PictureLog::PictureLog(PicturePolicy policy)
    : policy_(std::move(policy)),
      tasks_({.name = "ft-pictures", .depth = depth, .warn = [this](const std::exception& error) { warn(error); }}) {}

void PictureLog::validation(const ValidationEvent& event) {
  if (!event.samples || policy_.folder.empty()) return;
  tasks_.add([this, event] { write(event); });
}

void PictureLog::write(const ValidationEvent& event) {
  iteration_ = event.iteration;
  write_pictures(policy_.folder, event.iteration, *event.samples);
  prune_pictures(policy_.folder, policy_.keep_last, policy_.keep_every, event.best);
}

void PictureLog::warn(const std::exception& error) const {
  log_warn(concat("cannot write the pictures of the validation of iteration ", iteration_, ": ", error.what(),
                  "; the run goes on, and further failures are not reported"));
}

LoggerEntry pictures_logger() {
  return {"pictures", "PNG, JSON", PictureLog::depth, [](const LoggerInput& input) -> std::unique_ptr<Logger> {
            if (*input.config.val().pictures == 0) return nullptr;
            const SnapshotKeys snapshot = input.config.snapshot();
            PicturePolicy policy;
            if (input.metrics) policy.folder = input.folder() / "pictures";
            policy.keep_last = static_cast<std::size_t>(*snapshot.keep_last);
            policy.keep_every = period(snapshot.keep_every).to_iterations(input.epoch);
            return std::make_unique<PictureLog>(std::move(policy));
          }};
}

}  // namespace flowtrain

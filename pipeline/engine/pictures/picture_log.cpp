#include "pipeline/engine/pictures/picture_log.h"

#include <exception>
#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/pictures/picture_folder.h"
#include "sampling/core/text.h"
#include "sampling/io/held_folder.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

PictureLog::PictureLog(PicturePolicy policy)
    : policy_(std::move(policy)), thread_(named_thread("ft-pictures", [this] { loop(); })) {}

void PictureLog::validation(const ValidationEvent& event) {
  if (!event.samples || policy_.folder.empty()) return;
  auto owned = std::make_unique<ValidationEvent>(event);
  if (!queue_.push(owned.get())) return;
  static_cast<void>(owned.release());
  ++queued_;
}

void PictureLog::loop() {
  for (ValidationEvent* next = nullptr; queue_.pop(next);) {
    write(*std::unique_ptr<ValidationEvent>(next));
    ++*written_;
    written_->notify_all();
  }
}

void PictureLog::write(const ValidationEvent& event) try {
  write_pictures(policy_.folder, event.iteration, *event.samples);
  prune_pictures(policy_.folder, policy_.keep_last, policy_.keep_every, event.best);
} catch (const FolderLost&) {            // the trainer ends the run
} catch (const std::exception& error) {  // lack of memory, for example
  if (!std::exchange(warned_, true))
    log_warn(concat("cannot write the pictures of the validation of iteration ", event.iteration, ": ", error.what(),
                    "; the run goes on, and further failures are not reported"));
}

std::function<void()> PictureLog::wait_for_written() {
  return [written = written_, until = queued_] {
    for (std::uint64_t done = *written; done < until; done = *written) written->wait(done);
  };
}

void PictureLog::finish() {
  queue_.drain();
  if (thread_.joinable()) thread_.join();
}

}  // namespace flowtrain

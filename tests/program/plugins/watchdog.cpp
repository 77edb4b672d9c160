// A hook for tests: in one rank a thread throws what NCCL's watchdog does, while compute waits for ever. Once.

#include <c10/util/Exception.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "pipeline/plugin.h"
#include "stages/hooks/hook.h"

namespace {

using namespace flowtrain;

class Watchdog final : public Hook {
 public:
  explicit Watchdog(const Settings& settings)
      : at_(static_cast<std::uint64_t>(settings.integer("at"))), file_(settings.text("marker")) {}

  std::vector<HookEvent> events() const override { return {HookEvent::iteration_begin}; }

  void on_event(HookEvent, HookContext& context) override {
    if (context.rank != 1 || context.iteration != at_ || std::filesystem::exists(file_)) return;
    std::ofstream(file_) << context.iteration;
    std::thread([] { C10_THROW_ERROR(DistBackendError, "NCCL communicator was aborted on rank 1."); }).detach();
    for (;;) ::pause();
  }

 private:
  std::uint64_t at_;
  std::filesystem::path file_;
};

void add() {
  hooks().add({"watchdog",
               "ends a rank as NCCL's watchdog does",
               {{"at", Kind::integer, std::int64_t{1}, "iteration in which it does"},
                {"marker", Kind::text, std::string(), "where this file is, it has done so", 0, 0, {}, true}},
               [](const Settings& settings, const HookInput&) { return std::make_unique<Watchdog>(settings); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)

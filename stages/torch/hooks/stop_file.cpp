#include <filesystem>
#include <system_error>

#include "sampling/core/text.h"
#include "stages/hooks/hook_entries.h"

namespace flowtrain {

namespace {

class StopFile final : public Hook {
 public:
  explicit StopFile(std::filesystem::path file) : file_(std::move(file)) {}
  std::vector<HookEvent> events() const override { return {HookEvent::run_begin, HookEvent::iteration_end}; }
  void on_event(HookEvent, HookContext& context) override {
    std::error_code ignored;
    if (std::filesystem::exists(file_, ignored))
      context.stop(concat("there is a file ", file_.string(), ": hook stop_file"));
  }

 private:
  std::filesystem::path file_;
};

[[maybe_unused]] std::unique_ptr<Hook> make_stop_file(const Settings& settings, const HookInput&) {
  return std::make_unique<StopFile>(settings.text("file"));
}

}  // namespace

FLOWTRAIN_HOOKS(stop_file) {
  hooks.add({"stop_file",
             "ends the run, with a snapshot, once a file exists",
             {{.name = "file",
               .kind = Kind::text,
               .fallback = std::string(),
               .help = "path of the file",
               .required = true,
               .is_path = true}},
             FLOWTRAIN_MAKE(make_stop_file),
             {.observes_only = true}});
}

}  // namespace flowtrain

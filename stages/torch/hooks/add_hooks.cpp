#include "stages/torch/hooks/add_hooks.h"

#include <map>

#include "nets/mistake.h"
#include "sampling/core/text.h"
#include "stages/hook_entries.h"

namespace flowtrain {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(EntrySink<Hook, HookInput>&);
#include "stages/hook_list.h"
#undef FLOWTRAIN_FILE

namespace {

void set_makes() {
  static const bool once [[maybe_unused]] = [] {
    EntrySink<Hook, HookInput> sink(hooks(), true);
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(sink);
#include "stages/hook_list.h"
#undef FLOWTRAIN_FILE
    return true;
  }();
}

}  // namespace

void add_hooks(Hooks& to, const std::vector<Settings>& list) {
  set_makes();
  std::map<std::string, const Settings*> labels;
  for (auto& settings : list) {
    const auto key = settings.text("label").empty() ? "name" : "label";
    const std::string& label = settings.text(key);
    if (const auto [first, is_new] = labels.emplace(label, &settings); !is_new)
      throw settings.error(key, concat("two hooks are called '", label, "'"), ExitCode::usage, "give each a label");
    auto hook = nets::rethrow_at_key(settings, "name",
                                     [&] { return hooks().at(settings.text("name")).make(settings, HookInput{}); });
    to.add(std::move(hook), label, settings.integer("priority"), settings.text("ranks") == "first");
  }
}

}  // namespace flowtrain

#include "stages/torch/hooks/add_hooks.h"

#include "sampling/core/mistake.h"
#include "stages/hooks/hook_entries.h"

namespace flowtrain {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(EntrySink<Hook, HookInput>&);
#include "stages/hooks/hook_list.h"
#undef FLOWTRAIN_FILE

namespace {

void set_hook_makes() {
  static const bool once [[maybe_unused]] = [] {
    EntrySink<Hook, HookInput> sink(hooks(), true);
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(sink);
#include "stages/hooks/hook_list.h"
#undef FLOWTRAIN_FILE
    return true;
  }();
}

}  // namespace

void add_hooks(Hooks& to, const std::vector<Settings>& list) {
  set_hook_makes();
  for (auto& settings : list) {
    to.add(make_named(hooks(), settings, HookInput{}), label_of(settings), settings.integer("priority"),
           settings.text("ranks") == "first");
  }
}

}  // namespace flowtrain

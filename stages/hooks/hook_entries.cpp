#include "stages/hooks/hook_entries.h"

namespace flowtrain {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(EntrySink<Hook, HookInput>&);
#include "stages/hooks/hook_list.h"
#undef FLOWTRAIN_FILE

// The registry is never destroyed: entries of plugins may outlive the program's static objects.
Registry<Hook, HookInput>& hooks() {
  static Registry<Hook, HookInput>& all = *[] {
    auto* const made = new Registry<Hook, HookInput>("hook");
    EntrySink<Hook, HookInput> sink(*made, false);
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(sink);
#include "stages/hooks/hook_list.h"
#undef FLOWTRAIN_FILE
    return made;
  }();
  return all;
}

}  // namespace flowtrain

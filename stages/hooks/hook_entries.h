#pragma once
// The hooks that [[hook]] can name. This file needs no LibTorch.

#include "sampling/core/registry.h"
#include "stages/hooks/hook.h"

namespace flowtrain {

/// A hook is made of its settings alone.
struct HookInput {};

template <>
struct TraitsOf<Hook> {
  bool observes_only = false;  ///< changes no computed value, so a resumed run may have other values of its keys
};

using HookEntry = Entry<Hook, HookInput>;

/// Returns the registry. Makers throw UserError(usage), or std::invalid_argument, reported at the table's name.
Registry<Hook, HookInput>& hooks();

}  // namespace flowtrain

/// Ends a file of hooks, in namespace flowtrain: `FLOWTRAIN_HOOKS(norms) { hooks.add({…}); }`. Its name is a line of
/// stages/hooks/hook_list.h, and FLOWTRAIN_MAKE() holds the code that needs LibTorch.
#define FLOWTRAIN_HOOKS(file)                                                                 \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::EntrySink<flowtrain::Hook, flowtrain::HookInput>&); \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::EntrySink<flowtrain::Hook, flowtrain::HookInput> & hooks)

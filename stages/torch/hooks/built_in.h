#pragma once
// Hooks that need no plugin.

#include <memory>
#include <string>
#include <vector>

#include "stages/hooks.h"

namespace flowtrain {

class Settings;

/// Ends the run once the file `file` is there.
std::unique_ptr<Hook> make_stop_file_hook(const Settings& settings);
/// Every `every` iterations the 2-norms of weights and gradients, as `weight_norm.<part>` and `grad_norm.<part>`: a
/// part is what the first `depth` words of the parameters' names have in common.
std::unique_ptr<Hook> make_norms_hook(const Settings& settings);

/// Makes all of [[hook]], in their order: built-in ones and plugins. Throws UserError(usage).
void add_hooks(Hooks& hooks, const std::vector<Settings>& list);

/// Names of the built-in ones, sorted.
std::vector<std::string> hook_names();

}  // namespace flowtrain

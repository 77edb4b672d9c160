#pragma once
// The number of threads that make samples.

namespace flowtrain {

class Settings;

/// Returns the number of threads that decode, by the key `workers` of [loader] or [val]: "auto" divides the usable
/// cores among the `processes_here`. Warns of a number that is far beyond the cores, and returns less.
unsigned workers_of(const Settings& settings, unsigned processes_here = 1);

}  // namespace flowtrain
